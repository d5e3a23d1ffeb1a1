//! The lists of words that `name()`, `city()`, `product()` and similar functions choose from. All words of a list differ, even in lower
//! case.

/// The first names of people, for `first_name()`, `name()`, `username()` and `email()`.
#[rustfmt::skip]
pub(super) const FIRST_NAMES: &[&str] = &[
    "Ada", "Agnes", "Ahmed", "Aiko", "Alan", "Alba", "Alejandro", "Alice", "Amara", "Amelie", "Amir", "Ana",
    "Anders", "Andre", "Anna", "Anton", "Arjun", "Astrid", "Ava", "Beatrice", "Benjamin", "Bianca", "Bruno",
    "Camille", "Carlos", "Carmen", "Cecilia", "Charles", "Chen", "Chloe", "Clara", "Daniel", "Daria",
    "David", "Diego", "Dmitri", "Edith", "Eduardo", "Elena", "Elias", "Elif", "Elisa", "Emil", "Emma",
    "Enzo", "Erik", "Esther", "Eva", "Fatima", "Felix", "Finn", "Florence", "Frida", "Gabriel", "George",
    "Giulia", "Grace", "Greta", "Hana", "Hannah", "Harald", "Hassan", "Helen", "Henry", "Hugo", "Ibrahim",
    "Ida", "Igor", "Ines", "Ingrid", "Irene", "Isaac", "Ivan", "Jack", "Jakob", "Jana", "Jasmin", "Joan",
    "Johan", "John", "Jonas", "Jorge", "Julia", "Jun", "Kamal", "Karin", "Kenji", "Kofi", "Lara", "Laura",
    "Leila", "Leo", "Lena", "Liam", "Lina", "Louis", "Lucia", "Luis", "Magnus", "Maja", "Marco", "Maria",
    "Marta", "Mateo", "Maya", "Mehmet", "Mia", "Miguel", "Mina", "Nadia", "Naomi", "Nikola", "Nils", "Nina",
    "Noah", "Nora", "Olga", "Oliver", "Omar", "Oscar", "Pablo", "Paul", "Pedro", "Petra", "Priya", "Rafael",
    "Ravi", "Rosa", "Ruth", "Samuel", "Sara", "Selma", "Sofia", "Stefan", "Tariq", "Theo", "Thomas", "Uma",
    "Valentina", "Vera", "Victor", "Wanda", "Wei", "Yara", "Yusuf", "Zara", "Zoe",
];

/// Returns `true` if a word is one of the generator's first names.
pub fn is_first_name(word: &str) -> bool {
    FIRST_NAMES.contains(&word)
}

/// The last names of people, for `last_name()` and the functions with first names, and as parts of company and street names.
#[rustfmt::skip]
pub(super) const LAST_NAMES: &[&str] = &[
    "Abe", "Adams", "Ahmed", "Ali", "Almeida", "Alvarez", "Andersen", "Bakker", "Barbosa", "Bauer",
    "Becker", "Bell", "Bianchi", "Blom", "Brown", "Bruun", "Campbell", "Castro", "Chang", "Chen", "Clark",
    "Cohen", "Conti", "Costa", "Cruz", "Dahl", "Das", "Davis", "Diaz", "Dubois", "Eriksen", "Evans",
    "Fernandez", "Ferrari", "Fischer", "Flores", "Fontaine", "Garcia", "Gomez", "Gonzalez", "Green",
    "Gupta", "Haas", "Hansen", "Hernandez", "Hill", "Hoffmann", "Horvat", "Huang", "Hughes", "Ito",
    "Ivanova", "Jackson", "Jansen", "Jensen", "Johnson", "Jones", "Kaya", "Keller", "Khan", "Kim", "King",
    "Klein", "Kowalski", "Kumar", "Lambert", "Larsen", "Laurent", "Lee", "Lehmann", "Lewis", "Li", "Lopez",
    "Lund", "Maier", "Marino", "Martin", "Martinez", "Mendes", "Meyer", "Miller", "Moreau", "Moretti",
    "Morris", "Mueller", "Murphy", "Nakamura", "Nguyen", "Nielsen", "Novak", "Oliveira", "Olsen", "Park",
    "Patel", "Pereira", "Perez", "Petersen", "Popescu", "Ramirez", "Rao", "Reyes", "Ricci", "Richter",
    "Rivera", "Roberts", "Romano", "Rossi", "Roy", "Sanchez", "Santos", "Sato", "Schmidt", "Schneider",
    "Scott", "Shah", "Silva", "Singh", "Smith", "Sousa", "Suzuki", "Svensson", "Tanaka", "Taylor", "Thomas",
    "Torres", "Tran", "Vega", "Vidal", "Virtanen", "Visser", "Vogel", "Wagner", "Walker", "Wang", "Weber",
    "White", "Wilson", "Wolf", "Wong", "Wright", "Yamamoto", "Yilmaz", "Young", "Zhang", "Zhou",
    "Zimmermann",
];

/// The second words of company names, which follow a last name: `Miller Logistics`.
#[rustfmt::skip]
pub(super) const TRADES: &[&str] = &[
    "Group", "Ltd", "Inc", "Partners", "Consulting", "Logistics", "Foods", "Textiles", "Systems",
    "Software", "Motors", "Energy", "Trading", "Bakery", "Books", "Furniture", "Instruments", "Metals",
    "Optics", "Paper", "Pharma", "Printing", "Shipping", "Solutions", "Tools", "Travel",
];

/// The occupations of `job()`.
#[rustfmt::skip]
pub(super) const JOBS: &[&str] = &[
    "Accountant", "Actor", "Analyst", "Architect", "Baker", "Biologist", "Bookkeeper", "Carpenter", "Chef",
    "Chemist", "Clerk", "Consultant", "Dentist", "Designer", "Developer", "Doctor", "Driver", "Economist",
    "Editor", "Electrician", "Engineer", "Farmer", "Florist", "Gardener", "Geologist", "Journalist",
    "Judge", "Lawyer", "Librarian", "Manager", "Mechanic", "Musician", "Nurse", "Painter", "Pharmacist",
    "Photographer", "Physicist", "Pilot", "Plumber", "Researcher", "Sailor", "Secretary", "Surgeon",
    "Tailor", "Teacher", "Technician", "Translator", "Veterinarian", "Waiter", "Writer",
];

/// The adjectives before the nouns of `product()`.
#[rustfmt::skip]
pub(super) const ADJECTIVES: &[&str] = &[
    "Ancient", "Black", "Blue", "Bright", "Broad", "Classic", "Clever", "Compact", "Deep", "Double",
    "Eager", "Early", "Elegant", "Fine", "Folding", "Fresh", "Gentle", "Giant", "Golden", "Grand", "Green",
    "Heavy", "Handmade", "Hidden", "Light", "Little", "Magnetic", "Mellow", "Mighty", "Modern", "Narrow",
    "Noble", "Orange", "Plain", "Portable", "Practical", "Quiet", "Rapid", "Red", "Robust", "Rustic",
    "Sharp", "Silent", "Silver", "Simple", "Sleek", "Small", "Smooth", "Soft", "Solid", "Steady", "Sturdy",
    "Swift", "Tall", "Tiny", "White", "Wide", "Wild", "Wooden", "Yellow",
];

/// Nouns of products, which follow an adjective.
#[rustfmt::skip]
pub(super) const THINGS: &[&str] = &[
    "Apron", "Backpack", "Basket", "Bench", "Bicycle", "Blanket", "Bottle", "Bowl", "Brush", "Cabinet",
    "Camera", "Candle", "Chair", "Clock", "Coat", "Compass", "Cup", "Curtain", "Desk", "Drill", "Drum",
    "Engine", "Fan", "Flute", "Fork", "Frame", "Glove", "Guitar", "Hammer", "Hat", "Heater", "Helmet",
    "Jacket", "Jar", "Kettle", "Keyboard", "Knife", "Ladder", "Lamp", "Lantern", "Lens", "Lock", "Magnet",
    "Mirror", "Mug", "Notebook", "Oven", "Paddle", "Pan", "Pen", "Pencil", "Pillow", "Plate", "Pot",
    "Radio", "Rope", "Rug", "Saw", "Scarf", "Screen", "Shelf", "Shirt", "Shoe", "Shovel", "Sofa", "Speaker",
    "Spoon", "Stool", "Table", "Tent", "Towel", "Tray", "Tripod", "Umbrella", "Vase", "Violin", "Wallet",
    "Watch", "Wheel", "Whistle",
];

/// The last words of street names, which follow a last name: `12 Miller Avenue`.
#[rustfmt::skip]
pub(super) const STREETS: &[&str] = &[
    "Alley", "Avenue", "Boulevard", "Close", "Court", "Drive", "Grove", "Lane", "Park", "Path", "Place",
    "Road", "Row", "Square", "Street", "Terrace", "Way",
];

/// The cities of `city()` and of addresses.
#[rustfmt::skip]
pub(super) const CITIES: &[&str] = &[
    "Aarhus", "Accra", "Amsterdam", "Ankara", "Antwerp", "Athens", "Auckland", "Baku", "Bangkok",
    "Barcelona", "Basel", "Belgrade", "Bergen", "Berlin", "Bilbao", "Bogota", "Bologna", "Bordeaux",
    "Boston", "Bratislava", "Brisbane", "Brussels", "Bucharest", "Budapest", "Buenos Aires", "Cairo",
    "Cape Town", "Cardiff", "Casablanca", "Chennai", "Chicago", "Cologne", "Copenhagen", "Cork", "Dakar",
    "Dallas", "Delhi", "Denver", "Dhaka", "Dresden", "Dubai", "Dublin", "Durban", "Edinburgh", "Florence",
    "Frankfurt", "Gdansk", "Geneva", "Ghent", "Glasgow", "Gothenburg", "Graz", "Hamburg", "Hanoi", "Havana",
    "Helsinki", "Hobart", "Houston", "Istanbul", "Jakarta", "Johannesburg", "Kampala", "Kathmandu",
    "Kigali", "Kobe", "Krakow", "Kyoto", "Lagos", "Leeds", "Leipzig", "Lima", "Lisbon", "Ljubljana",
    "London", "Lusaka", "Lyon", "Madrid", "Malmo", "Manila", "Marseille", "Melbourne", "Miami", "Milan",
    "Montevideo", "Montreal", "Mumbai", "Munich", "Nairobi", "Naples", "New York", "Nice", "Osaka", "Oslo",
    "Ottawa", "Paris", "Perth", "Porto", "Prague", "Quebec", "Quito", "Reykjavik", "Riga", "Rome",
    "Rotterdam", "Salzburg", "San Diego", "Santiago", "Sao Paulo", "Sapporo", "Seattle", "Seoul", "Seville",
    "Singapore", "Sofia", "Stockholm", "Sydney", "Taipei", "Tallinn", "Tampere", "Tokyo", "Toronto",
    "Toulouse", "Trieste", "Tunis", "Turin", "Utrecht", "Valencia", "Vancouver", "Venice", "Vienna",
    "Vilnius", "Warsaw", "Wellington", "Windhoek", "Zagreb", "Zurich",
];

/// The states and provinces of `state()`.
#[rustfmt::skip]
pub(super) const STATES: &[&str] = &[
    "Alberta", "Andalusia", "Arizona", "Bavaria", "Bahia", "Brittany", "California", "Catalonia",
    "Colorado", "Connacht", "Crete", "Flanders", "Florida", "Galicia", "Gelderland", "Georgia", "Gujarat",
    "Hesse", "Hokkaido", "Illinois", "Jalisco", "Kerala", "Kyushu", "Lombardy", "Manitoba", "Minas Gerais",
    "Nebraska", "Nevada", "New South Wales", "Normandy", "Ontario", "Oregon", "Otago", "Punjab",
    "Queensland", "Saxony", "Scania", "Sicily", "Silesia", "Tasmania", "Texas", "Tuscany", "Tyrol",
    "Ulster", "Utah", "Vermont", "Victoria", "Wales", "Yucatan", "Zeeland",
];

/// The countries of `country()` and of addresses.
#[rustfmt::skip]
pub(super) const COUNTRIES: &[&str] = &[
    "Argentina", "Australia", "Austria", "Bangladesh", "Belgium", "Bolivia", "Brazil", "Bulgaria", "Canada",
    "Chile", "China", "Colombia", "Croatia", "Cuba", "Cyprus", "Denmark", "Ecuador", "Egypt", "Estonia",
    "Ethiopia", "Finland", "France", "Germany", "Ghana", "Greece", "Hungary", "Iceland", "India",
    "Indonesia", "Ireland", "Israel", "Italy", "Jamaica", "Japan", "Jordan", "Kenya", "Latvia", "Lithuania",
    "Luxembourg", "Malaysia", "Malta", "Mexico", "Morocco", "Nepal", "Netherlands", "New Zealand",
    "Nigeria", "Norway", "Pakistan", "Panama", "Peru", "Philippines", "Poland", "Portugal", "Romania",
    "Senegal", "Serbia", "Singapore", "Slovakia", "Slovenia", "South Africa", "South Korea", "Spain",
    "Sri Lanka", "Sweden", "Switzerland", "Tanzania", "Thailand", "Tunisia", "Turkey", "Uganda", "Ukraine",
    "United Kingdom", "United States", "Uruguay", "Vietnam", "Zambia",
];

/// The two-letter codes of [`COUNTRIES`] (ISO 3166), in the same order.
#[rustfmt::skip]
pub(super) const COUNTRY_CODES: &[&str] = &[
    "AR", "AU", "AT", "BD", "BE", "BO", "BR", "BG", "CA", "CL", "CN", "CO", "HR", "CU", "CY", "DK", "EC",
    "EG", "EE", "ET", "FI", "FR", "DE", "GH", "GR", "HU", "IS", "IN", "ID", "IE", "IL", "IT", "JM", "JP",
    "JO", "KE", "LV", "LT", "LU", "MY", "MT", "MX", "MA", "NP", "NL", "NZ", "NG", "NO", "PK", "PA", "PE",
    "PH", "PL", "PT", "RO", "SN", "RS", "SG", "SK", "SI", "ZA", "KR", "ES", "LK", "SE", "CH", "TZ", "TH",
    "TN", "TR", "UG", "UA", "GB", "US", "UY", "VN", "ZM",
];

/// The host names of web sites.
#[rustfmt::skip]
pub(super) const SITES: &[&str] = &[
    "amber", "arcade", "atlas", "aurora", "beacon", "birch", "blossom", "bridge", "canyon", "cedar",
    "cobalt", "comet", "coral", "crater", "delta", "ember", "fable", "falcon", "fjord", "garnet", "glacier",
    "harbor", "hazel", "heron", "indigo", "island", "ivory", "jasmine", "juniper", "kestrel", "lagoon",
    "lantern", "lotus", "lunar", "maple", "marble", "meadow", "meteor", "nectar", "nimbus", "ocean",
    "olive", "onyx", "opal", "orbit", "orchid", "pebble", "pine", "planet", "prairie", "quartz", "quill",
    "raven", "reef", "river", "robin", "saffron", "sage", "sierra", "slate", "solar", "spruce", "summit",
    "tango", "thistle", "tulip", "tundra", "valley", "velvet", "violet", "walnut", "willow", "zenith",
    "zephyr",
];

/// The Latin words of `word()`, `sentence()` and other prose.
#[rustfmt::skip]
pub(super) const LOREM: &[&str] = &[
    "ab", "accusamus", "ad", "adipisci", "alias", "aliquam", "aliquid", "amet", "animi", "aperiam",
    "asperiores", "at", "atque", "aut", "autem", "beatae", "blanditiis", "commodi", "consectetur",
    "consequatur", "corporis", "corrupti", "culpa", "cum", "cumque", "debitis", "delectus", "deleniti",
    "deserunt", "dicta", "dignissimos", "dolor", "dolore", "ducimus", "ea", "earum", "eius", "eligendi",
    "enim", "eos", "error", "esse", "est", "et", "eum", "eveniet", "ex", "excepturi", "expedita",
    "explicabo", "facere", "facilis", "fuga", "fugiat", "fugit", "harum", "hic", "id", "illo", "illum",
    "impedit", "in", "incidunt", "inventore", "ipsa", "ipsum", "iste", "itaque", "iure", "iusto", "labore",
    "laborum", "laudantium", "libero", "magnam", "magni", "maiores", "maxime", "minima", "minus", "modi",
    "molestiae", "mollitia", "nam", "natus", "necessitatibus", "nemo", "neque", "nihil", "nisi", "nobis",
    "non", "nostrum", "nulla", "numquam", "odio", "odit", "officia", "officiis", "omnis", "optio",
    "pariatur", "perferendis", "placeat", "porro", "possimus", "praesentium", "quae", "quaerat", "quam",
    "quas", "quasi", "qui", "quia", "quibusdam", "quidem", "quis", "quisquam", "quo", "quod", "quos",
    "ratione", "recusandae", "rem", "repellat", "rerum", "saepe", "sapiente", "sed", "sequi", "similique",
    "sint", "sit", "soluta", "sunt", "suscipit", "tempora", "temporibus", "tenetur", "totam", "ullam",
    "unde", "ut", "vel", "velit", "veniam", "veritatis", "vero", "vitae", "voluptas", "voluptate",
    "voluptatem", "voluptatum",
];
