extension MalformedFile {
  /// A safetensors file with this header text and `data` bytes of zeros behind it.
  private static func file(_ header: String, data: Int = 16, length: UInt64? = nil) -> [UInt8] {
    var builder = ByteBuilder()
    builder.append(length ?? UInt64(header.utf8.count))
    builder.append(header)
    return builder.bytes + [UInt8](repeating: 0, count: data)
  }

  private static func one(_ description: String, _ header: String, data: Int = 16, length: UInt64? = nil, says: String) -> MalformedFile {
    MalformedFile("safetensors: " + description, [(name: "model.safetensors", bytes: file(header, data: data, length: length))], says: says)
  }

  private static func tensor(
    _ name: String, _ dtype: String = "F32", _ shape: String = "[2,2]", _ begin: String = "0", _ end: String = "16"
  )
    -> String
  { #""\#(name)":{"dtype":"\#(dtype)","shape":\#(shape),"data_offsets":[\#(begin),\#(end)]}"# }

  static var safetensors: [MalformedFile] {
    [
      one("header length 2^63", "{}", length: 1 << 63, says: "header length"),
      one("header length 2^64 - 1", "{}", length: .max, says: "header length"),
      one("header length beyond the file", "{}", length: 5000, says: "cut short"),
      one("header length of 100 MB + 1", "{}", length: 100_000_001, says: "header length"),
      one("header length 1", "{}", length: 1, says: "header length"),
      one("leading space", " {\(tensor("a"))}", says: "'{' expected"),
      one("no header object", "[1,2,3]", says: "'{' expected"),
      one("bytes that are not UTF-8", "{\"\u{FFFD}\":", says: "header"),
      one("unfinished JSON", "{\(tensor("a"))", says: "header"),
      one("JSON with a tail", "{\(tensor("a"))} x", says: "header"),
      one("nested 10,000 deep", "{\"a\":" + String(repeating: "[", count: 10_000), says: "header"),
      one("duplicate names, two dtypes", "{\(tensor("a", "U8", "[16]")),\(tensor("a"))}", says: "'a'"),
      one(
        "shape product wraps to 4 (safetensors-cpp)", "{\(tensor("a", "U8", "[4194305,4194305,211106198978564]", "0", "4"))}", data: 4,
        says: "more bytes than 64 bits"),
      one("shape product 2^32 + 4 (mlx 4245)", "{\(tensor("a", "U8", "[4294967300]", "0", "4"))}", data: 4, says: "needs 4294967300 bytes"),
      one("shape longer than its bytes (mlx 3363)", "{\(tensor("a", "F32", "[2,3]"))}", says: "needs 24 bytes"),
      one("shape shorter than its bytes", "{\(tensor("a", "F32", "[1]"))}", says: "needs 4 bytes"),
      one("negative dimension", "{\(tensor("a", "F32", "[-2,-2]"))}", says: "dimension 0"),
      one("fractional dimension", "{\(tensor("a", "F32", "[2.5,2]"))}", says: "dimension 0"),
      one("dimension 2^64", "{\(tensor("a", "F32", "[18446744073709551616]"))}", says: "dimension 0"),
      one("dimension as text", "{\(tensor("a", "F32", "[\"4\"]"))}", says: "dimension 0"),
      one("shape is no list", "{\(tensor("a", "F32", "4"))}", says: "shape"),
      one("unknown dtype", "{\(tensor("a", "F31"))}", says: "F31"),
      one("offsets swapped", "{\(tensor("a", "F32", "[2,2]", "16", "0"))}", says: "data_offsets"),
      one("offsets negative", "{\(tensor("a", "F32", "[2,2]", "-16", "0"))}", says: "data_offsets"),
      one("offsets past the end", "{\(tensor("a", "F32", "[2,2]", "16", "32"))}", says: "16"),
      one("offset 2^63", "{\(tensor("a", "F32", "[2,2]", "9223372036854775808", "9223372036854775824"))}", says: "data_offsets"),
      one("overlap", "{\(tensor("a")),\(tensor("b", "F32", "[2,2]", "8", "24"))}", data: 24, says: "inside tensor"),
      one("hole", "{\(tensor("a")),\(tensor("b", "F32", "[2,2]", "20", "36"))}", data: 36, says: "belong to no tensor"),
      one("trailing bytes: a polyglot", "{\(tensor("a"))}", data: 17, says: "belong to no tensor"),
      one("cut short", "{\(tensor("a"))}", data: 15, says: "cut short"),
      one("missing shape", #"{"a":{"dtype":"F32","data_offsets":[0,16]}}"#, says: "shape"),
      one("unknown key", #"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"stride":[1]}}"#, says: "stride"),
      one(
        "metadata that is no text", #"{"__metadata__":{"a":1},"b":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#, says: "__metadata__"
      ),
      one("metadata that is a list", #"{"__metadata__":[],"b":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#, says: "__metadata__"),
      one("an entry that is no object", #"{"a":7}"#, says: "'a'"),
    ]
  }

  /// Sharded checkpoints whose index lies.
  static var shards: [MalformedFile] {
    func index(_ description: String, _ text: String, says: String) -> MalformedFile {
      MalformedFile(
        "shards: " + description,
        [
          (name: "model.safetensors.index.json", bytes: Array(text.utf8)), (name: "a.safetensors", bytes: file("{\(tensor("a"))}")),
          (name: "b.safetensors", bytes: file("{\(tensor("b"))}")),
        ], says: says)
    }
    return [
      index("index is no JSON", "{", says: "index.json"),
      index("no weight map", "{}", says: "weight_map"),
      index("empty weight map", #"{"weight_map":{}}"#, says: "weight_map"),
      index("weight map is a list", #"{"weight_map":[]}"#, says: "weight_map"),
      index("shard outside the directory", #"{"weight_map":{"a":"../a.safetensors"}}"#, says: "a file name beside the index"),
      index("shard with an absolute path", #"{"weight_map":{"a":"/etc/passwd"}}"#, says: "a file name beside the index"),
      index("shard with a NUL", #"{"weight_map":{"a":"a.safetensors\u0000x"}}"#, says: "a file name beside the index"),
      index("shard that is a number", #"{"weight_map":{"a":1}}"#, says: "the name of a shard"),
      index("missing shard", #"{"weight_map":{"a":"a.safetensors","c":"c.safetensors"}}"#, says: "not beside the index"),
      index("tensor in another shard", #"{"weight_map":{"a":"b.safetensors","b":"a.safetensors"}}"#, says: "is not in its shard"),
      index("tensor that the index forgets", #"{"weight_map":{"a":"a.safetensors"}}"#, says: "config.json"),
      index("duplicate key", #"{"weight_map":{"a":"a.safetensors","a":"b.safetensors"}}"#, says: "index.json"),
    ]
  }
}
