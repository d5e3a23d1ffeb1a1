// Makes parquet_mr.parquet and parquet_mr_v2.parquet with parquet-hadoop, the library that Spark and Hive write with.
import java.math.BigInteger;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

public class Make {
    public static void main(String[] args) throws Exception {
        make(args[0] + "/parquet_mr.parquet", WriterVersion.PARQUET_1_0, CompressionCodecName.SNAPPY);
        make(args[0] + "/parquet_mr_v2.parquet", WriterVersion.PARQUET_2_0, CompressionCodecName.GZIP);
    }

    static void make(String path, WriterVersion version, CompressionCodecName codec) throws Exception {
        MessageType schema = MessageTypeParser.parseMessageType(
            "message spark_schema { optional int32 i; required int64 big; optional double f;"
            + " optional binary word (STRING); required binary text (UTF8); optional boolean flag;"
            + " optional int32 day (DATE); required int64 at (TIMESTAMP(MICROS,true));"
            + " optional fixed_len_byte_array(5) price (DECIMAL(10,2)); optional binary bytes;"
            + " optional group list (LIST) { repeated group list { optional int64 element; } }"
            + " optional group old (LIST) { repeated int32 array; } }");
        SimpleGroupFactory groups = new SimpleGroupFactory(schema);
        String[] words = {"red", "green", "", "blau/größe"};
        try (var writer = ExampleParquetWriter.builder(new LocalOutputFile(Path.of(path)))
                .withType(schema).withConf(new Configuration()).withWriterVersion(version).withCompressionCodec(codec)
                .withRowGroupSize(4000L).withPageSize(300).withDictionaryEncoding(true).build()) {
            for (int n = 0; n < 120; n++) {
                Group row = groups.newGroup();
                boolean some = n % 7 != 3;
                if (some) {
                    row.add("i", (n - 40) * 1_000_003);
                    row.add("f", n / 3.0);
                    row.add("day", n * 37 - 7);
                    row.add("price", Binary.fromConstantByteArray(wide(n * 1237L - 5000)));
                }
                row.add("big", (1L << 53) + n);
                if (n % 5 != 4) row.add("word", words[n % 4]);
                row.add("text", "row " + n);
                if (n % 11 != 0) row.add("flag", n % 3 == 0);
                row.add("at", 1_709_164_799_999_990L + n * 3_600_000_001L);
                if (n % 4 != 0) row.add("bytes", Binary.fromConstantByteArray(new byte[n % 9]));
                if (n % 6 != 5) {
                    Group list = row.addGroup("list"), old = row.addGroup("old");
                    for (int k = 0; k < n % 5; k++) {
                        Group item = list.addGroup("list");
                        if (k % 3 != 0) item.add("element", (long) k);
                        old.add("array", k);
                    }
                }
                writer.write(row);
            }
        }
    }

    static byte[] wide(long value) {
        byte[] bytes = new byte[5];
        for (int at = 4; at >= 0; at--, value >>= 8) bytes[at] = (byte) value;
        return bytes;
    }
}
