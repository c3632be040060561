import { describe, expect, it } from 'vitest';
import { configOver } from '../../harness/authenticated-gateway.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { openSession } from '../../harness/clients/raw.ts';
import { otelcol, startOtelcol } from '../../harness/collector/otelcol.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';
import { startGateway } from '../../harness/vmcp.ts';

const SERVER = 2;
const CLIENT = 3;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

describe.skipIf(otelcol === undefined)('the OpenTelemetry Collector', () => {
  it('accepts the traces and the metrics of a gateway', async () => {
    const scope = testScope();
    const collector = await startOtelcol(scope);
    const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'files');
    const allowed = { insecure_allow_http: true, allow_private_ips: true };
    const config = configOver({ backends: [{ name: 'files', transport: 'streamable-http', url, ...allowed }] });
    const telemetry = { endpoint: collector.endpoint, samplingRate: '1', customAttributes: { team: 'north' } };
    const gateway = await startGateway(scope, JSON.stringify({ ...config, telemetry_config: telemetry }));
    const session = await openSession(gateway.url);
    await eventually('the tools are there', async () => (await session.tools()).includes('files_echo'));
    const params = {
      name: 'files_echo',
      arguments: { text: 'hi' },
      _meta: { traceparent: `00-${TRACE}-${PARENT}-01` },
    };
    expect(await session.request('tools/call', params)).toMatchObject({ status: 200 });
    const spans = await eventually('both spans of the call arrive', () => {
      const ofCall = collector.spans().filter(({ traceId }) => traceId === TRACE);
      return ofCall.length >= 2 && ofCall;
    });
    const server = spans.find(({ kind }) => kind === SERVER);
    expect(server).toMatchObject({ name: 'tools/call files_echo', parentSpanId: PARENT });
    expect(spans.find(({ kind }) => kind === CLIENT)).toMatchObject({
      name: 'tools/call echo',
      parentSpanId: server?.spanId,
    });
    await gateway.stop(); // the last metrics are exported at the end
    const durations = await eventually('the histogram arrives', () =>
      collector.metrics().findLast(({ name }) => name === 'mcp.server.operation.duration'),
    );
    expect(durations.unit).toBe('s');
    const ofCalls = durations.histogram?.dataPoints.filter(({ attributes }) =>
      attributes.some(({ key, value }) => key === 'mcp.method.name' && value['stringValue'] === 'tools/call'),
    );
    expect(ofCalls?.map(({ count }) => Number(count))).toEqual([1]);
    expect(collector.text()).toContain('"key":"team","value":{"stringValue":"north"}');
    expect(collector.log()).toBe('');
  });
});
