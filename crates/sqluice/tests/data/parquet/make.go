// Makes parquet_go.parquet: rows of ints, floats, strings, times and lists in two row groups, with a column for each compression.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/parquet-go/parquet-go"
)

type Row struct {
	I     *int32    `parquet:"i,optional,snappy"`
	Big   int64     `parquet:"big,delta,zstd"`
	F     *float64  `parquet:"f,optional,gzip"`
	Word  string    `parquet:"word,dict,brotli"`
	Text  string    `parquet:"text,lz4"`
	Flag  bool      `parquet:"flag"`
	At    time.Time `parquet:"at,timestamp(microsecond)"`
	Bytes []byte    `parquet:"bytes,plain"`
	List  []int64   `parquet:"list,list"`
	Bare  []int32   `parquet:"bare"`
}

func main() {
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	writer := parquet.NewGenericWriter[Row](file, parquet.MaxRowsPerRowGroup(50), parquet.PageBufferSize(400))
	words := []string{"red", "green", "", "blau/größe"}
	for n := 0; n < 120; n++ {
		row := Row{
			Big:   int64(n)*1_000_000_007 - 5,
			Word:  words[n%4],
			Text:  fmt.Sprintf("row %d", n),
			Flag:  n%3 == 0,
			At:    time.Date(2024, 2, 28, 23, 59, 59, n*1000, time.UTC).Add(time.Duration(n) * time.Hour),
			Bytes: make([]byte, n%5),
		}
		if n%7 != 3 {
			i, f := int32(n-40), float64(n)/3
			row.I, row.F = &i, &f
		}
		for k := 0; k < n%4; k++ {
			row.List = append(row.List, int64(k))
			row.Bare = append(row.Bare, int32(-k))
		}
		if _, err := writer.Write([]Row{row}); err != nil {
			panic(err)
		}
	}
	if err := writer.Close(); err != nil {
		panic(err)
	}
	file.Close()
}
