import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.GroupsApi;
import org.openapitools.client.api.WorkloadsApi;
import org.openapitools.client.model.CreateGroupRequest;
import org.openapitools.client.model.CreateWorkloadRequest;
import org.openapitools.client.model.Group;
import org.openapitools.client.model.ToolOverride;

public class Main {
  public static void main(String[] args) throws Exception {
    var client = new ApiClient();
    client.updateBaseUri(args[0]);
    var groups = new GroupsApi(client);
    var workloads = new WorkloadsApi(client);

    var first = names(groups);
    var created = groups.createGroup(new CreateGroupRequest().name("lab"));
    var overrides = Map.of("echo", new ToolOverride().name("say"));
    var request = new CreateWorkloadRequest().name("notes").group("lab").url(args[1]).toolsOverride(overrides);
    workloads.createWorkload(request);
    var details = workloads.getWorkload("notes");
    var listed = workloads.listWorkloads(true, "lab").getWorkloads().stream()
        .map(workload -> List.of(workload.getName(), workload.getRemote(), workload.getGroup()))
        .toList();
    var deleted = workloads.deleteWorkloadWithHttpInfo("notes").getStatusCode();
    var gone = groups.deleteGroupWithHttpInfo("lab", true).getStatusCode();
    var facts = Map.of(
        "first", first,
        "created", created.getName(),
        "override", details.getToolsOverride().get("echo").getName(),
        "listed", listed,
        "statuses", List.of(deleted, gone, statusOfMissing(groups)),
        "last", names(groups));
    System.out.println(new ObjectMapper().writeValueAsString(facts));
  }

  private static List<String> names(GroupsApi groups) throws ApiException {
    return groups.listGroups().getGroups().stream().map(Group::getName).toList();
  }

  private static int statusOfMissing(GroupsApi groups) {
    try {
      groups.getGroup("lab");
      return 200;
    } catch (ApiException error) {
      return error.getCode();
    }
  }
}
