import json
import sys

from vmcp_api import Client
from vmcp_api.api.groups import create_group, delete_group, get_group, list_groups
from vmcp_api.api.workloads import create_workload, delete_workload, get_workload, list_workloads
from vmcp_api.models import CreateGroupRequest, CreateWorkloadRequest, CreateWorkloadRequestToolsOverride, ToolOverride

base_url, backend = sys.argv[1:]
client = Client(base_url=base_url)


def group_names():
    return [group.name for group in list_groups.sync(client=client).groups]


first = group_names()
created = create_group.sync(client=client, body=CreateGroupRequest(name="lab"))
overrides = CreateWorkloadRequestToolsOverride()
overrides["echo"] = ToolOverride(name="say")
request = CreateWorkloadRequest(name="notes", group="lab", url=backend, tools_override=overrides)
reply = create_workload.sync_detailed(client=client, body=request)
assert reply.status_code == 201, reply.content
details = get_workload.sync("notes", client=client)
listed = list_workloads.sync(client=client, all_=True, group="lab").workloads
deleted = delete_workload.sync_detailed("notes", client=client)
gone = delete_group.sync_detailed("lab", client=client, with_workloads=True)
missing = get_group.sync_detailed("lab", client=client)
facts = {
    "first": first,
    "created": created.name,
    "override": details.tools_override["echo"].name,
    "listed": [[workload.name, workload.remote, workload.group] for workload in listed],
    "statuses": [reply.status_code for reply in (deleted, gone, missing)],
    "last": group_names(),
}
print(json.dumps(facts))
