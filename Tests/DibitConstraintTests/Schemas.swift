import DibitConstraint

/// The schemas, made once.
let constraints: [Result<TokenConstraint, ConstraintError>] = schemas.map { example in
  Result { () throws(ConstraintError) in try TokenConstraint(Constraint(schema: example.schema), vocabulary: TestVocabulary.shared) }
}

/// Schemas with values that each accepts, in the spelling that is generated.
let schemas: [(schema: String, accepted: [String], refused: [String])] = [
  (#"{"type":"null"}"#, ["null"], ["nul", "0", "\"null\""]),
  (#"{"type":"boolean"}"#, ["true", "false"], ["True", "1"]),
  (#"{"type":"integer"}"#, ["0", "-1", "12", "-123456789012345678"], ["-0", "01", "1.0", "1e5", "", "-", "1234567890123456789"]),
  (#"{"type":"number"}"#, ["0", "-1.5", "0.001", "1e5", "1.25E-10", "-0.5"], ["01", ".5", "1.", "1e", "+1", "1e500", "NaN"]),
  (
    #"{"type":"string"}"#, [#""""#, #""a\"b\\\/\b\f\n\r\t""#, #""\u0041\ud83D\uDE00""#, "\"é日😀\""],
    [#""\ud800""#, #""\udc00""#, #""\x""#, "\"\n\"", "a"]
  ),
  (#"{"type":"string","minLength":2,"maxLength":4}"#, [#""ab""#, #""日本語é""#, #""\u0041\ud83d\ude00""#], [#""a""#, #""abcde""#, #""""#]),
  (#"{"type":"string","maxLength":0}"#, [#""""#], [#""a""#]),
  (
    #"{"type":"string","minLength":30}"#, ["\"" + String(repeating: "z", count: 30) + "\""],
    ["\"" + String(repeating: "z", count: 29) + "\""]
  ),
  (#"{"enum":["sport","news","spo"]}"#, [#""sport""#, #""spo""#], [#""sp""#, #""other""#]),
  (#"{"enum":["a/b","tab\there","quote\"","日本"]}"#, [#""a/b""#, #""tab\there""#, #""quote\"""#, "\"日本\""], [#""a\/b""#]),
  (#"{"enum":[1,2.5,null,true,{"a":[1,2]},"x"]}"#, ["1", "2.5", "null", "true", #"{"a":[1,2]}"#, #""x""#], ["2", "{}"]),
  (#"{"type":"string","enum":["ab",5,"abc"],"maxLength":2}"#, [#""ab""#], ["5", #""abc""#]),
  (#"{"const":{"kind":"x","n":[1,{"b":null}]}}"#, [#"{"kind":"x","n":[1,{"b":null}]}"#], ["{}"]),
  (#"{"type":"string","pattern":"^[a-c]{2,3}$"}"#, [#""ab""#, #""abc""#], [#""a""#, #""abca""#, #""d""#]),
  (#"{"type":"string","pattern":"b+c"}"#, [#""bc""#, "\"xxbbc日\"", #""\nbc""#], [#""b""#, #""cb""#]),
  (#"{"type":"string","pattern":"^(?:foo|ba[rz])(-\\d+)?$"}"#, [#""foo""#, #""baz-12""#], [#""ba""#, #""foo-""#]),
  (#"{"type":"string","pattern":"^\"\\\\[ \\t][^x]$"}"#, [#""\"\\ y""#, #""\"\\\t\n""#], [#""\"\\ x""#]),
  (#"{"type":"string","pattern":"^[\\u00e9-\\u4e00]+$","maxLength":3}"#, ["\"é\"", "\"\u{800}\u{FFF}\u{1000}\""], ["\"a\"", "\"éééé\""]),
  (#"{"type":"string","pattern":"^\\w+$","minLength":3,"maxLength":5}"#, [#""abc""#, #""a_9Z0""#], [#""ab""#, #""abcdef""#]),
  (#"{"type":"string","pattern":"^a|b$"}"#, [#""a""#, #""axx""#, #""xxb""#], [#""xa""#, #""bx""#]),
  (
    #"{"type":"string","format":"date"}"#, [#""2024-02-29""#, #""1999-12-31""#],
    [#""2023-02-29""#, #""1900-02-29""#, #""2024-13-01""#, #""2024-04-31""#]
  ),
  (#"{"type":"string","format":"date-time"}"#, [#""2024-01-02T03:04:05Z""#, #""2000-02-29T23:59:59.123+05:30""#], [#""2024-01-02""#]),
  (#"{"type":"string","format":"time"}"#, [#""00:00:00Z""#, #""23:59:59-08:00""#], [#""24:00:00Z""#, #""00:00:00""#]),
  (#"{"type":"string","format":"uuid"}"#, [#""123e4567-e89b-12d3-a456-426614174000""#], [#""123e4567e89b12d3a456426614174000""#]),
  (#"{"type":"string","format":"email"}"#, [#""a@b.co""#, #""x.y+z@mail.example.org""#], [#""a@b""#, #""a@.co""#]),
  (#"{"type":"string","format":"ipv4"}"#, [#""127.0.0.1""#, #""255.255.255.255""#], [#""256.0.0.1""#]),
  (#"{"type":"integer","minimum":-5,"maximum":120}"#, ["-5", "0", "9", "10", "99", "120"], ["-6", "121", "1000", "-10"]),
  (#"{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":3}"#, ["1", "2"], ["0", "3", "-1"]),
  (#"{"type":"integer","minimum":1000}"#, ["1000", "999999999999999999"], ["999", "-1000"]),
  (#"{"type":"integer","minimum":10,"maximum":100,"multipleOf":7}"#, ["14", "98"], ["7", "15", "105"]),
  (#"{"type":"number","minimum":0,"maximum":1}"#, ["0", "1", "0.5", "1.0", "0.999"], ["1.1", "-0.1", "2", "1e0"]),
  (#"{"type":"number","exclusiveMinimum":-2.5,"exclusiveMaximum":2.5}"#, ["-2.49", "0", "2.499"], ["2.5", "-2.5", "3"]),
  (#"{"type":"number","minimum":0,"maximum":1000,"multipleOf":0.01}"#, ["0", "9.99", "1000", "1000.00"], ["9.999", "1000.01"]),
  (#"{"type":"number","minimum":1e-3,"maximum":0.0025}"#, ["0.001", "0.0025", "0.00234567"], ["0", "0.0026", "0.0009"]),
  (#"{"type":["string","integer","null"],"maxLength":3,"maximum":5,"minimum":0}"#, [#""abc""#, "5", "null"], ["6", #""abcd""#, "true"]),
  (#"{"type":"integer","nullable":true}"#, ["1", "null"], ["true"]),
  (
    #"{"type":"object","properties":{"topics":{"type":"array","items":{"enum":["sport","news"]},"minItems":1,"maxItems":3}},"required":["topics"]}"#,
    [#"{"topics":["sport"]}"#, #"{"topics":["sport","news","news"]}"#],
    ["{}", #"{"topics":[]}"#, #"{"topics":["sport","news","news","news"]}"#, #"{"topics":["sport"],"x":1}"#, #"{"topics": ["sport"]}"#]
  ),
  (
    #"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"boolean"}},"required":["b"]}"#,
    [#"{"b":""}"#, #"{"a":1,"b":"x","c":true}"#, #"{"b":"x","c":false}"#], ["{}", #"{"a":1}"#, #"{"b":"x","a":1}"#, #"{"a":1,}"#]
  ),
  (
    #"{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}},"minProperties":2,"maxProperties":2}"#,
    [#"{"a":null,"b":null}"#, #"{"a":null,"c":null}"#, #"{"b":null,"c":null}"#], ["{}", #"{"a":null}"#, #"{"a":null,"b":null,"c":null}"#]
  ),
  (
    #"{"type":"object","additionalProperties":{"type":"integer"}}"#, ["{}", #"{"a":1}"#, #"{"a":1,"b":2,"":3}"#, #"{"\"\\\n\u0001":4}"#],
    [#"{"a":1,"a":2}"#, #"{"a":""}"#, #"{"\u0061":1}"#]
  ),
  (
    #"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":{"type":"boolean"},"maxProperties":3}"#,
    [#"{"name":"x"}"#, #"{"name":"x","y":true,"nam":false}"#],
    [#"{"y":true}"#, #"{"name":"x","name":true}"#, #"{"name":"x","a":true,"b":true,"c":true}"#]
  ),
  (#"{"type":"object","additionalProperties":{"type":"null"},"minProperties":2}"#, [#"{"a":null,"b":null}"#], ["{}", #"{"a":null}"#]),
  (#"{"type":"object","additionalProperties":false}"#, ["{}"], [#"{"a":1}"#]),
  (
    #"{"type":"object","properties":{"a":{"type":"integer"}},"required":["z"]}"#, [#"{"z":[]}"#, #"{"a":1,"z":{"q":null}}"#], [#"{"a":1}"#]
  ),
  (
    #"{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":4}"#, ["[1,2]", "[1,2,3,4]"], ["[]", "[1]", "[1,2,3,4,5]", "[1,]"]
  ),
  (#"{"type":"array","items":{"type":"array","items":{"type":"boolean"}}}"#, ["[]", "[[],[true,false]]"], ["[true]", "[[[]]]"]),
  (
    #"{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":{"type":"null"},"minItems":1}"#,
    [#"["a"]"#, #"["a",1]"#, #"["a",1,null,null]"#], ["[]", "[1]", #"["a",1,2]"#]
  ),
  (#"{"prefixItems":[{"type":"string"},{"type":"integer"}]}"#, ["[]", #"["a"]"#, #"["a",1]"#], [#"["a",1,1]"#]),
  (
    #"{"type":"array","items":{"enum":["a","ab",1,"b"]},"uniqueItems":true,"minItems":2,"maxItems":3}"#,
    [#"["a","ab"]"#, #"["ab","a",1]"#, #"[1,"b"]"#], [#"["a","a"]"#, #"["a"]"#, #"[1,"a",1]"#, #"["a","b","ab",1]"#]
  ),
  (#"{"type":"array","items":{"type":"string","enum":["x",5]},"uniqueItems":true}"#, ["[]", #"["x"]"#], ["[5]", #"["x","x"]"#]),
  (#"{"type":"array","items":false}"#, ["[]"], ["[1]"]),
  (#"true"#, ["null", #"{"a":[1,{"b":"c"}]}"#, "[]", "1.5", #""x""#], ["", "nul"]),
  (#"{}"#, ["null", #"{"a":[1,{"b":"c"}]}"#], [#"{"a":1,"a":2}"#]),
  (
    ##"{"$defs":{"node":{"type":"object","properties":{"value":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["value","next"]}},"$ref":"#/$defs/node"}"##,
    [#"{"value":1,"next":null}"#, #"{"value":1,"next":{"value":2,"next":null}}"#], [#"{"value":1}"#, #"{"value":1,"next":2}"#]
  ),
  (
    ##"{"definitions":{"tree":{"type":"array","items":{"$ref":"#/definitions/tree"}}},"$ref":"#/definitions/tree"}"##, ["[]", "[[],[[]]]"],
    ["[1]", "[[]"]
  ),
  (
    #"{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"]},{"type":"object","properties":{"kind":{"const":"b"},"y":{"type":"string"}},"required":["kind","y"]}]}"#,
    [#"{"kind":"a","x":1}"#, #"{"kind":"b","y":""}"#], [#"{"kind":"a","y":""}"#, #"{"kind":"c"}"#]
  ),
  (#"{"oneOf":[{"type":"integer"},{"type":"number"},{"enum":["x"]}]}"#, ["1", "1.5", #""x""#], [#""y""#]),
  (
    #"{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"string"},"a":{"minimum":3}},"required":["b"]}]}"#,
    [#"{"a":3,"b":"x"}"#], [#"{"a":2,"b":"x"}"#, #"{"a":3}"#]
  ),
  (
    #"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
    [#"{"a":1}"#, #"{"b":1}"#, #"{"a":1,"b":2}"#], ["{}"]
  ),
  (
    #"{"allOf":[{"type":"string","minLength":2},{"pattern":"^a"},{"pattern":"z$","maxLength":3}]}"#, [#""az""#, #""abz""#],
    [#""a""#, #""abcz""#]
  ),
  (#"{"allOf":[{"type":"number","minimum":1},{"type":"integer","maximum":3}]}"#, ["1", "3"], ["0", "4", "1.5"]),
  (
    ##"{"type":"object","properties":{"a":{"$ref":"#/$defs/x","description":"said","minLength":1}},"required":["a"],"$defs":{"x":{"type":"string","maxLength":2}},"title":"t"}"##,
    [#"{"a":"é"}"#, #"{"a":"ab"}"#], [#"{"a":""}"#, #"{"a":"abc"}"#]
  ),
  (
    #"{"type":"object","properties":{"z":{"type":"null"},"a":{"type":"null"},"m":{"type":"null"}},"required":["a","z"],"x-order":["a","m","z"]}"#,
    [#"{"a":null,"z":null}"#, #"{"a":null,"m":null,"z":null}"#], [#"{"z":null,"a":null}"#]
  ),
  (#"{"type":"object","properties":{"é\"k":{"type":"null"}},"required":["é\"k"]}"#, ["{\"é\\\"k\":null}"], ["{\"e\":null}"]),
]
