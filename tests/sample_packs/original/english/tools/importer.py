import json
import sys

print(json.dumps({"imported": len(json.load(sys.stdin)["input"])}))
