// Asks the same statements of several HiveServer2 endpoints through gohive and prints what each
// said: probe STATEMENTS.json CA.pem NAME=WAY,HOST:PORT ..., WAY is binary, http, tls or https.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/beltran/gohive"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	check(err)
	var statements []string
	check(json.Unmarshal(data, &statements))
	authority, err := os.ReadFile(os.Args[2])
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	for _, word := range os.Args[3:] {
		name, rest, _ := strings.Cut(word, "=")
		way, address, _ := strings.Cut(rest, ",")
		fmt.Println("==", name)
		ask(statements, way, address, roots)
	}
}

func ask(statements []string, way string, address string, roots *x509.CertPool) {
	host, digits, err := net.SplitHostPort(address)
	check(err)
	port, err := strconv.Atoi(digits)
	check(err)
	configuration := gohive.NewConnectConfiguration()
	configuration.Username, configuration.Password = "ann", "secret"
	configuration.Database = "clients"
	if strings.HasPrefix(way, "http") {
		configuration.TransportMode = "http"
	}
	if way == "tls" || way == "https" {
		configuration.TLSConfig = &tls.Config{RootCAs: roots, ServerName: host}
	}
	connection, err := gohive.Connect(host, port, "NONE", configuration)
	check(err)
	defer connection.Close()
	for _, sql := range statements {
		fmt.Printf("%q: %s\n", sql, answer(connection, sql))
	}
}

func answer(connection *gohive.Connection, sql string) string {
	ctx := context.Background()
	cursor := connection.Cursor()
	defer cursor.Close()
	cursor.Exec(ctx, sql)
	if cursor.Err != nil {
		return fmt.Sprintf("%q", cursor.Err.Error())
	}
	said := fmt.Sprintf("%q", cursor.Description())
	for cursor.HasMore(ctx) {
		row := cursor.RowMap(ctx)
		if cursor.Err != nil {
			return said + fmt.Sprintf(" %q", cursor.Err.Error())
		}
		told, err := json.Marshal(texts(row))
		check(err)
		said += string(told)
	}
	if cursor.Err != nil {
		return said + fmt.Sprintf(" %q", cursor.Err.Error())
	}
	return said
}

// JSON has no NaN.
func texts(row map[string]interface{}) map[string]string {
	told := map[string]string{}
	for key, value := range row {
		told[key] = fmt.Sprintf("%T %v", value, value)
	}
	return told
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
