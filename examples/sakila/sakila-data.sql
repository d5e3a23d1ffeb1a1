-- Sakila Sample Database Data
-- Version 1.2

-- Copyright (c) 2006, 2019, Oracle and/or its affiliates.

-- Redistribution and use in source and binary forms, with or without
-- modification, are permitted provided that the following conditions are
-- met:

-- * Redistributions of source code must retain the above copyright notice,
--   this list of conditions and the following disclaimer.
-- * Redistributions in binary form must reproduce the above copyright
--   notice, this list of conditions and the following disclaimer in the
--   documentation and/or other materials provided with the distribution.
-- * Neither the name of Oracle nor the names of its contributors may be used
--   to endorse or promote products derived from this software without
--   specific prior written permission.

-- THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS
-- IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO,
-- THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR
-- PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT OWNER OR
-- CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL,
-- EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO,
-- PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR
-- PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF
-- LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING
-- NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS
-- SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.

SET NAMES utf8mb4;
SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0;
SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0;
SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='TRADITIONAL';
SET @old_autocommit=@@autocommit;

USE sakila;

--
-- Dumping data for table actor
--

SET AUTOCOMMIT=0;
INSERT INTO actor VALUES (1,'PENELOPE','GUINESS','2006-02-15 04:34:33'),
(2,'NICK','WAHLBERG','2006-02-15 04:34:33'),
(10,'CHRISTIAN','GABLE','2006-02-15 04:34:33'),
(19,'BOB','FAWCETT','2006-02-15 04:34:33'),
(20,'LUCILLE','TRACY','2006-02-15 04:34:33'),
(21,'KIRSTEN','PALTROW','2006-02-15 04:34:33'),
(22,'ELVIS','MARX','2006-02-15 04:34:33'),
(23,'SANDRA','KILMER','2006-02-15 04:34:33'),
(24,'CAMERON','STREEP','2006-02-15 04:34:33'),
(26,'RIP','CRAWFORD','2006-02-15 04:34:33'),
(29,'ALEC','WAYNE','2006-02-15 04:34:33'),
(30,'SANDRA','PECK','2006-02-15 04:34:33'),
(33,'MILLA','PECK','2006-02-15 04:34:33'),
(35,'JUDY','DEAN','2006-02-15 04:34:33'),
(37,'VAL','BOLGER','2006-02-15 04:34:33'),
(40,'JOHNNY','CAGE','2006-02-15 04:34:33'),
(41,'JODIE','DEGENERES','2006-02-15 04:34:33'),
(51,'GARY','PHOENIX','2006-02-15 04:34:33'),
(53,'MENA','TEMPLE','2006-02-15 04:34:33'),
(55,'FAY','KILMER','2006-02-15 04:34:33'),
(59,'DUSTIN','TAUTOU','2006-02-15 04:34:33'),
(62,'JAYNE','NEESON','2006-02-15 04:34:33'),
(64,'RAY','JOHANSSON','2006-02-15 04:34:33'),
(68,'RIP','WINSLET','2006-02-15 04:34:33'),
(75,'BURT','POSEY','2006-02-15 04:34:33'),
(77,'CARY','MCCONAUGHEY','2006-02-15 04:34:33'),
(81,'SCARLETT','DAMON','2006-02-15 04:34:33'),
(85,'MINNIE','ZELLWEGER','2006-02-15 04:34:33'),
(88,'KENNETH','PESCI','2006-02-15 04:34:33'),
(90,'SEAN','GUINESS','2006-02-15 04:34:33'),
(96,'GENE','WILLIS','2006-02-15 04:34:33'),
(99,'JIM','MOSTEL','2006-02-15 04:34:33'),
(103,'MATTHEW','LEIGH','2006-02-15 04:34:33'),
(105,'SIDNEY','CROWE','2006-02-15 04:34:33'),
(108,'WARREN','NOLTE','2006-02-15 04:34:33'),
(109,'SYLVESTER','DERN','2006-02-15 04:34:33'),
(110,'SUSAN','DAVIS','2006-02-15 04:34:33'),
(114,'MORGAN','MCDORMAND','2006-02-15 04:34:33'),
(117,'RENEE','TRACY','2006-02-15 04:34:33'),
(123,'JULIANNE','DENCH','2006-02-15 04:34:33'),
(130,'GRETA','KEITEL','2006-02-15 04:34:33'),
(133,'RICHARD','PENN','2006-02-15 04:34:33'),
(136,'ED','MANSFIELD','2006-02-15 04:34:33'),
(137,'MORGAN','WILLIAMS','2006-02-15 04:34:33'),
(138,'LUCILLE','DEE','2006-02-15 04:34:33'),
(142,'JADA','RYDER','2006-02-15 04:34:33'),
(146,'ALBERT','JOHANSSON','2006-02-15 04:34:33'),
(147,'FAY','WINSLET','2006-02-15 04:34:33'),
(155,'IAN','TANDY','2006-02-15 04:34:33'),
(157,'GRETA','MALDEN','2006-02-15 04:34:33'),
(160,'CHRIS','DEPP','2006-02-15 04:34:33'),
(162,'OPRAH','KILMER','2006-02-15 04:34:33'),
(166,'NICK','DEGENERES','2006-02-15 04:34:33'),
(169,'KENNETH','HOFFMAN','2006-02-15 04:34:33'),
(170,'MENA','HOPPER','2006-02-15 04:34:33'),
(174,'MICHAEL','BENING','2006-02-15 04:34:33'),
(175,'WILLIAM','HACKMAN','2006-02-15 04:34:33'),
(177,'GENE','MCKELLEN','2006-02-15 04:34:33'),
(178,'LISA','MONROE','2006-02-15 04:34:33'),
(180,'JEFF','SILVERSTONE','2006-02-15 04:34:33'),
(181,'MATTHEW','CARREY','2006-02-15 04:34:33'),
(185,'MICHAEL','BOLGER','2006-02-15 04:34:33'),
(188,'ROCK','DUKAKIS','2006-02-15 04:34:33'),
(191,'GREGORY','GOODING','2006-02-15 04:34:33'),
(194,'MERYL','ALLEN','2006-02-15 04:34:33'),
(197,'REESE','WEST','2006-02-15 04:34:33'),
(198,'MARY','KEITEL','2006-02-15 04:34:33'),
(200,'THORA','TEMPLE','2006-02-15 04:34:33');
COMMIT;

--
-- Dumping data for table category
--

SET AUTOCOMMIT=0;
INSERT INTO category VALUES (1,'Action','2006-02-15 04:46:27'),
(2,'Animation','2006-02-15 04:46:27'),
(3,'Children','2006-02-15 04:46:27'),
(4,'Classics','2006-02-15 04:46:27'),
(5,'Comedy','2006-02-15 04:46:27'),
(6,'Documentary','2006-02-15 04:46:27'),
(7,'Drama','2006-02-15 04:46:27'),
(8,'Family','2006-02-15 04:46:27'),
(9,'Foreign','2006-02-15 04:46:27'),
(10,'Games','2006-02-15 04:46:27'),
(11,'Horror','2006-02-15 04:46:27'),
(12,'Music','2006-02-15 04:46:27'),
(13,'New','2006-02-15 04:46:27'),
(14,'Sci-Fi','2006-02-15 04:46:27'),
(15,'Sports','2006-02-15 04:46:27'),
(16,'Travel','2006-02-15 04:46:27');
COMMIT;

--
-- Dumping data for table film
--

SET AUTOCOMMIT=0;
INSERT INTO film VALUES (1,'ACADEMY DINOSAUR','A Epic Drama of a Feminist And a Mad Scientist who must Battle a Teacher in The Canadian Rockies',2006,1,NULL,6,'0.99',86,'20.99','PG','Deleted Scenes,Behind the Scenes','2006-02-15 05:03:42'),
(2,'ACE GOLDFINGER','A Astounding Epistle of a Database Administrator And a Explorer who must Find a Car in Ancient China',2006,1,NULL,3,'4.99',48,'12.99','G','Trailers,Deleted Scenes','2006-02-15 05:03:42'),
(3,'ADAPTATION HOLES','A Astounding Reflection of a Lumberjack And a Car who must Sink a Lumberjack in A Baloon Factory',2006,1,NULL,7,'2.99',50,'18.99','NC-17','Trailers,Deleted Scenes','2006-02-15 05:03:42'),
(4,'AFFAIR PREJUDICE','A Fanciful Documentary of a Frisbee And a Lumberjack who must Chase a Monkey in A Shark Tank',2006,1,NULL,5,'2.99',117,'26.99','G','Commentaries,Behind the Scenes','2006-02-15 05:03:42'),
(5,'AFRICAN EGG','A Fast-Paced Documentary of a Pastry Chef And a Dentist who must Pursue a Forensic Psychologist in The Gulf of Mexico',2006,1,NULL,6,'2.99',130,'22.99','G','Deleted Scenes','2006-02-15 05:03:42'),
(6,'AGENT TRUMAN','A Intrepid Panorama of a Robot And a Boy who must Escape a Sumo Wrestler in Ancient China',2006,1,NULL,3,'2.99',169,'17.99','PG','Deleted Scenes','2006-02-15 05:03:42'),
(7,'AIRPLANE SIERRA','A Touching Saga of a Hunter And a Butler who must Discover a Butler in A Jet Boat',2006,1,NULL,6,'4.99',62,'28.99','PG-13','Trailers,Deleted Scenes','2006-02-15 05:03:42'),
(8,'AIRPORT POLLOCK','A Epic Tale of a Moose And a Girl who must Confront a Monkey in Ancient India',2006,1,NULL,6,'4.99',54,'15.99','R','Trailers','2006-02-15 05:03:42'),
(9,'ALABAMA DEVIL','A Thoughtful Panorama of a Database Administrator And a Mad Scientist who must Outgun a Mad Scientist in A Jet Boat',2006,1,NULL,3,'2.99',114,'21.99','PG-13','Trailers,Deleted Scenes','2006-02-15 05:03:42'),
(10,'ALADDIN CALENDAR','A Action-Packed Tale of a Man And a Lumberjack who must Reach a Feminist in Ancient China',2006,1,NULL,6,'4.99',63,'24.99','NC-17','Trailers,Deleted Scenes','2006-02-15 05:03:42'),
(11,'ALAMO VIDEOTAPE','A Boring Epistle of a Butler And a Cat who must Fight a Pastry Chef in A MySQL Convention',2006,1,NULL,6,'0.99',126,'16.99','G','Commentaries,Behind the Scenes','2006-02-15 05:03:42'),
(12,'ALASKA PHANTOM','A Fanciful Saga of a Hunter And a Pastry Chef who must Vanquish a Boy in Australia',2006,1,NULL,6,'0.99',136,'22.99','PG','Commentaries,Deleted Scenes','2006-02-15 05:03:42'),
(993,'WRONG BEHAVIOR','A Emotional Saga of a Crocodile And a Sumo Wrestler who must Discover a Mad Cow in New Orleans',2006,1,NULL,6,'2.99',178,'10.99','PG-13','Trailers,Behind the Scenes','2006-02-15 05:03:42'),
(1000,'ZORRO ARK','A Intrepid Panorama of a Mad Scientist And a Boy who must Redeem a Boy in A Monastery',2006,1,NULL,3,'4.99',50,'18.99','NC-17','Trailers,Commentaries,Behind the Scenes','2006-02-15 05:03:42');
COMMIT;

--
-- Dumping data for table film_actor
--

SET AUTOCOMMIT=0;
INSERT INTO film_actor VALUES (1,1,'2006-02-15 05:05:03'),
(2,3,'2006-02-15 05:05:03'),
(10,1,'2006-02-15 05:05:03'),
(10,9,'2006-02-15 05:05:03'),
(19,2,'2006-02-15 05:05:03'),
(19,3,'2006-02-15 05:05:03'),
(20,1,'2006-02-15 05:05:03'),
(21,6,'2006-02-15 05:05:03'),
(22,9,'2006-02-15 05:05:03'),
(23,6,'2006-02-15 05:05:03'),
(24,3,'2006-02-15 05:05:03'),
(26,9,'2006-02-15 05:05:03'),
(29,10,'2006-02-15 05:05:03'),
(30,1,'2006-02-15 05:05:03'),
(33,993,'2006-02-15 05:05:03'),
(35,10,'2006-02-15 05:05:03'),
(37,10,'2006-02-15 05:05:03'),
(37,12,'2006-02-15 05:05:03'),
(40,1,'2006-02-15 05:05:03'),
(40,11,'2006-02-15 05:05:03'),
(41,4,'2006-02-15 05:05:03'),
(51,5,'2006-02-15 05:05:03'),
(51,993,'2006-02-15 05:05:03'),
(53,1,'2006-02-15 05:05:03'),
(53,9,'2006-02-15 05:05:03'),
(55,8,'2006-02-15 05:05:03'),
(59,5,'2006-02-15 05:05:03'),
(62,6,'2006-02-15 05:05:03'),
(64,3,'2006-02-15 05:05:03'),
(64,10,'2006-02-15 05:05:03'),
(68,9,'2006-02-15 05:05:03'),
(75,12,'2006-02-15 05:05:03'),
(77,993,'2006-02-15 05:05:03'),
(81,4,'2006-02-15 05:05:03'),
(81,11,'2006-02-15 05:05:03'),
(85,2,'2006-02-15 05:05:03'),
(88,4,'2006-02-15 05:05:03'),
(90,2,'2006-02-15 05:05:03'),
(90,11,'2006-02-15 05:05:03'),
(96,8,'2006-02-15 05:05:03'),
(99,7,'2006-02-15 05:05:03'),
(103,5,'2006-02-15 05:05:03'),
(105,12,'2006-02-15 05:05:03'),
(105,993,'2006-02-15 05:05:03'),
(108,1,'2006-02-15 05:05:03'),
(108,6,'2006-02-15 05:05:03'),
(108,9,'2006-02-15 05:05:03'),
(109,12,'2006-02-15 05:05:03'),
(110,8,'2006-02-15 05:05:03'),
(114,993,'2006-02-15 05:05:03'),
(117,10,'2006-02-15 05:05:03'),
(123,3,'2006-02-15 05:05:03'),
(130,9,'2006-02-15 05:05:03'),
(133,7,'2006-02-15 05:05:03'),
(136,993,'2006-02-15 05:05:03'),
(137,6,'2006-02-15 05:05:03'),
(138,8,'2006-02-15 05:05:03'),
(142,10,'2006-02-15 05:05:03'),
(146,12,'2006-02-15 05:05:03'),
(147,4,'2006-02-15 05:05:03'),
(155,1000,'2006-02-15 05:05:03'),
(157,10,'2006-02-15 05:05:03'),
(160,2,'2006-02-15 05:05:03'),
(162,1,'2006-02-15 05:05:03'),
(162,4,'2006-02-15 05:05:03'),
(162,7,'2006-02-15 05:05:03'),
(166,1000,'2006-02-15 05:05:03'),
(169,6,'2006-02-15 05:05:03'),
(170,7,'2006-02-15 05:05:03'),
(170,993,'2006-02-15 05:05:03'),
(174,11,'2006-02-15 05:05:03'),
(175,9,'2006-02-15 05:05:03'),
(177,12,'2006-02-15 05:05:03'),
(178,1000,'2006-02-15 05:05:03'),
(180,12,'2006-02-15 05:05:03'),
(181,5,'2006-02-15 05:05:03'),
(185,7,'2006-02-15 05:05:03'),
(188,1,'2006-02-15 05:05:03'),
(188,10,'2006-02-15 05:05:03'),
(191,993,'2006-02-15 05:05:03'),
(194,9,'2006-02-15 05:05:03'),
(197,6,'2006-02-15 05:05:03'),
(198,1,'2006-02-15 05:05:03'),
(200,5,'2006-02-15 05:05:03'),
(200,993,'2006-02-15 05:05:03');
COMMIT;

--
-- Dumping data for table film_category
--

SET AUTOCOMMIT=0;
INSERT INTO film_category VALUES (1,6,'2006-02-15 05:07:09'),
(2,11,'2006-02-15 05:07:09'),
(3,6,'2006-02-15 05:07:09'),
(4,11,'2006-02-15 05:07:09'),
(5,8,'2006-02-15 05:07:09'),
(6,9,'2006-02-15 05:07:09'),
(7,5,'2006-02-15 05:07:09'),
(8,11,'2006-02-15 05:07:09'),
(9,11,'2006-02-15 05:07:09'),
(10,15,'2006-02-15 05:07:09'),
(11,9,'2006-02-15 05:07:09'),
(12,12,'2006-02-15 05:07:09'),
(993,3,'2006-02-15 05:07:09'),
(1000,5,'2006-02-15 05:07:09');
COMMIT;

--
-- Dumping data for table language
--

SET AUTOCOMMIT=0;
INSERT INTO language VALUES (1,'English','2006-02-15 05:02:19'),
(2,'Italian','2006-02-15 05:02:19'),
(3,'Japanese','2006-02-15 05:02:19'),
(4,'Mandarin','2006-02-15 05:02:19'),
(5,'French','2006-02-15 05:02:19'),
(6,'German','2006-02-15 05:02:19');
COMMIT;

SET SQL_MODE=@OLD_SQL_MODE;
SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS;
SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS;
SET autocommit=@old_autocommit;
