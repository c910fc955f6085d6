"""Sends an action with the generated client and reads the deeds about it."""

import json
import sys

from client import AuthenticatedClient
from client.api.gate import send_action
from client.api.ledger import list_deeds
from client.models import Action, ActionRequest, DeedList, JsonObject

base, key, mark = sys.argv[1:]
with AuthenticatedClient(base_url=base, token=key) as client:
    args = JsonObject.from_dict({"mark": mark})
    action = send_action.sync(client=client, body=ActionRequest(tool="lab.note", args=args))
    assert isinstance(action, Action), action
    deeds = list_deeds.sync(client=client, subject=action.id)
    assert isinstance(deeds, DeedList), deeds
    print(json.dumps({"action": action.to_dict(), "deeds": deeds.to_dict()}))
