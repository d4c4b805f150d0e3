module causeway/probe

go 1.23.0

require github.com/beltran/gohive v1.8.1

require (
	github.com/apache/thrift v0.22.0 // indirect
	github.com/beltran/gosasl v1.0.0 // indirect
	github.com/beltran/gssapi v0.0.0-20200324152954-d86554db4bab // indirect
	github.com/go-zookeeper/zk v1.0.4 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/net v0.41.0 // indirect
)
