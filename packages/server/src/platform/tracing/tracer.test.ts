import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { makeCertificate } from '../../../test/support/test-certificates.ts';
import { startTraceCollector, type TraceCollector } from '../../../test/support/trace-collector.ts';
import { until } from '../../../test/support/wait-for-result.ts';
import { createLog } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { readSettings } from '../settings/settings.ts';
import { pause } from '../time/clock.ts';
import { endSpan, failSpan, startBatchSpan, startChildSpan } from './span.ts';
import { parseTraceparent } from './trace-context.ts';
import { createTracer, type Tracer } from './tracer.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-tracer-'));
after(() => rm(dataDir, { recursive: true, force: true }));

const callerTrace = '4bf92f3577b34da6a3ce929d0e0e4736';
const sampledParent = `00-${callerTrace}-00f067aa0ba902b7-01`;
const unsampledParent = `00-${callerTrace}-00f067aa0ba902b7-00`;

type Started = { tracer: Tracer; collector: TraceCollector; metric(name: string): Promise<number> };

/** A tracer that exports to its own collector; the test ends both. */
async function startTracer(
  t: TestContext,
  variables: Record<string, string> = {},
  collector?: TraceCollector,
): Promise<Started> {
  const ownCollector = collector ?? (await startTraceCollector());
  const settings = readSettings({
    SWITCHYARD_DATA_DIR: dataDir,
    OTEL_EXPORTER_OTLP_ENDPOINT: ownCollector.endpoint,
    OTEL_EXPORTER_OTLP_TIMEOUT: '300',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    ...variables,
  });
  const metrics = createMetrics();
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  const retryTimes = { firstRetryMs: 20, retryLimitMs: 3000 };
  const tracer = createTracer({ settings, log, metrics, retryTimes });
  assert.ok(tracer);
  t.after(async () => {
    await tracer.stop();
    await ownCollector.stop();
  });
  const metric = async (series: string) => {
    const text = await metrics.registry.metrics();
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    return Number(line?.split(' ')[1] ?? Number.NaN);
  };
  return { tracer, collector: ownCollector, metric };
}

const exported = 'switchyard_trace_spans_exported_total';
const dropped = (reason: string) => `switchyard_trace_spans_dropped_total{reason="${reason}"}`;

function recordRequests(tracer: Tracer, count: number): void {
  const request = { traceparent: undefined, isAuthenticated: true };
  for (let index = 0; index < count; index += 1)
    endSpan(tracer.startRequest(request, `request ${index}`, {}));
}

describe('traces', () => {
  test('a collector gets each span with its parent, its links, its attributes and its resource', async (t) => {
    const { tracer, collector } = await startTracer(t, {
      OTEL_SERVICE_NAME: 'bank',
      OTEL_RESOURCE_ATTRIBUTES: 'k8s.namespace.name=pay%20ments,service.name=other',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc,x-scope=1',
    });
    const request = { traceparent: sampledParent, isAuthenticated: true, elapsedMs: 20 };
    const span = tracer.startRequest(request, 'POST /sale', { 'http.request.method': 'POST' });
    assert.ok(span);
    const commit = startChildSpan(span, 'commit sale');
    const batch = startBatchSpan([commit], 'BATCH sale', { 'db.operation.batch.size': 3 });
    failSpan(batch, 'database');
    endSpan(commit);
    endSpan(span, { 'http.response.status_code': 200 });
    await until(() => collector.spans.length === 3, 'the spans');
    const [first, second, third] = collector.spans;
    assert.deepEqual(
      [first, second, third].map((each) => [each?.name, each?.kind, each?.isError]),
      [
        ['BATCH sale', 'client', true],
        ['commit sale', 'internal', false],
        ['POST /sale', 'server', false],
      ],
    );
    assert.equal(third?.traceId, callerTrace);
    assert.equal(third?.parentSpanId, '00f067aa0ba902b7');
    assert.deepEqual(third?.attributes, {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
    });
    assert.ok((third?.endNano ?? 0n) - (third?.startNano ?? 0n) >= 20_000_000n);
    assert.deepEqual([second?.traceId, second?.parentSpanId], [callerTrace, third?.spanId]);
    assert.equal(first?.parentSpanId, undefined);
    assert.notEqual(first?.traceId, callerTrace);
    assert.deepEqual(first?.links, [{ traceId: callerTrace, spanId: second?.spanId }]);
    assert.deepEqual(second?.links, [{ traceId: first?.traceId, spanId: first?.spanId }]);
    assert.deepEqual(first?.attributes, { 'db.operation.batch.size': 3, 'error.type': 'database' });
    const { resource } = first ?? {};
    assert.equal(resource?.['service.name'], 'bank');
    assert.equal(resource?.['k8s.namespace.name'], 'pay ments');
    assert.equal(resource?.['deployment.environment.name'], 'demo');
    assert.equal(collector.headers[0]?.['authorization'], 'Bearer abc');
    assert.equal(collector.headers[0]?.['x-scope'], '1');
    const nowNano = BigInt(Date.now()) * 1_000_000n;
    const differenceMs = Number(nowNano - (third?.endNano ?? 0n)) / 1e6;
    assert.ok(Math.abs(differenceMs) < 10_000, String(differenceMs));
  });

  const decisions: readonly [string, string | undefined, boolean, boolean][] = [
    // sampler, traceparent, authenticated, sampled
    ['always_on', unsampledParent, true, true],
    ['always_off', sampledParent, true, false],
    ['parentbased_always_on', unsampledParent, true, false],
    ['parentbased_always_on', undefined, true, true],
    ['parentbased_always_off', sampledParent, true, true],
    ['parentbased_always_off', sampledParent, false, false],
    ['parentbased_always_off', undefined, true, false],
    ['parentbased_always_on', unsampledParent, false, true],
  ];
  for (const [sampler, traceparent, isAuthenticated, isSampled] of decisions) {
    const caller = isAuthenticated ? 'an authenticated caller' : 'an unknown caller';
    test(`${sampler}, ${caller}, traceparent ${traceparent?.slice(-2)}: ${isSampled ? 'sampled' : 'not sampled'}`, async (t) => {
      const { tracer } = await startTracer(t, { OTEL_TRACES_SAMPLER: sampler });
      const span = tracer.startRequest({ traceparent, isAuthenticated }, 'x', {});
      assert.equal(span !== undefined, isSampled);
    });
  }

  test('an unknown caller cannot choose the trace', async (t) => {
    const { tracer } = await startTracer(t);
    const request = { traceparent: sampledParent, isAuthenticated: false };
    const span = tracer.startRequest(request, 'x', {});
    assert.notEqual(span?.traceId, callerTrace);
    assert.equal(span?.parentSpanId, undefined);
  });

  test('a caller cannot force the sampling of more than the limit, and not by the identifier', async (t) => {
    const { tracer } = await startTracer(t, {
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
      SWITCHYARD_CALLER_TRACES_PER_SECOND: '7',
    });
    const countSampled = (traceparent: string, count: number) =>
      Array.from({ length: count }, () =>
        tracer.startRequest({ traceparent, isAuthenticated: true }, 'x', {}),
      ).filter((span) => span !== undefined).length;
    const startedAtMs = performance.now();
    const sampled = countSampled(sampledParent, 5000);
    const seconds = Math.ceil((performance.now() - startedAtMs) / 1000) + 1;
    // 50 by the ratio; 120 is ten standard deviations above.
    assert.ok(sampled >= 7 && sampled <= 120 + 7 * seconds, String(sampled));
    const { tracer: ratioTracer } = await startTracer(t, {
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    });
    const lowestId = `00-${'0'.repeat(31)}1-00f067aa0ba902b7-01`;
    const byIdentifier = Array.from({ length: 5000 }, () =>
      ratioTracer.startRequest({ traceparent: lowestId, isAuthenticated: true }, 'x', {}),
    ).filter((span) => span !== undefined).length;
    assert.ok(byIdentifier > 0 && byIdentifier < 120, String(byIdentifier));
  });

  test('later work has a link to its cause, and is sampled with it', async (t) => {
    const { tracer } = await startTracer(t, { OTEL_TRACES_SAMPLER: 'always_off' });
    const span = tracer.startLinked(sampledParent, 'job', {});
    assert.notEqual(span?.traceId, callerTrace);
    assert.equal(span?.links[0]?.traceId, callerTrace);
    assert.equal(tracer.startLinked(undefined, 'job', {}), undefined);
    const continued = tracer.continueTrace(sampledParent, 'POST', 'client', {});
    assert.deepEqual(
      [continued?.traceId, continued?.parentSpanId],
      [callerTrace, '00f067aa0ba902b7'],
    );
    assert.deepEqual(parseTraceparent(continued?.traceparent), {
      traceId: callerTrace,
      spanId: continued?.spanId,
      isSampled: true,
    });
  });

  test('a traceparent of version 00 ends after its flags, and a later one may have more', () => {
    const more = `${sampledParent}-more`;
    assert.equal(parseTraceparent(more), undefined);
    assert.equal(parseTraceparent(more.replace(/^00/, '01'))?.traceId, callerTrace);
    assert.equal(parseTraceparent(sampledParent.replace(/^00/, 'ff')), undefined);
  });

  for (const status of [429, 502, 503, 504]) {
    test(`spans are sent again after ${status} with Retry-After`, async (t) => {
      const { tracer, collector, metric } = await startTracer(t);
      collector.respondWith({ status, headers: { 'retry-after': '1' } });
      recordRequests(tracer, 3);
      await until(() => collector.headers.length === 1, 'the first attempt');
      collector.respondWith({ status: 200 });
      const startedAtMs = performance.now();
      await until(() => collector.spans.length === 3, 'the spans');
      assert.ok(performance.now() - startedAtMs > 500, 'not before the time of Retry-After');
      await until(async () => (await metric(exported)) === 3, 'the metric');
      assert.equal(collector.headers.length, 2);
    });
  }

  test('a collector with Retry-After: 0 does not get the spans again without a pause', async (t) => {
    const { tracer, collector } = await startTracer(t);
    collector.respondWith({ status: 503, headers: { 'retry-after': '0' } });
    recordRequests(tracer, 1);
    await until(() => collector.headers.length === 1, 'the first attempt');
    await pause(300);
    // Pauses of 20, 40, 80 and 160 ms, each up to half shorter.
    assert.ok(collector.headers.length < 15, String(collector.headers.length));
    collector.respondWith({ status: 200 });
  });

  test('spans that the collector refuses are dropped and counted', async (t) => {
    const { tracer, collector, metric } = await startTracer(t);
    collector.respondWith({ status: 400 });
    recordRequests(tracer, 2);
    await until(async () => (await metric(dropped('refused'))) === 2, 'the metric');
    assert.equal(collector.headers.length, 1, 'not sent again');
  });

  for (const fault of ['down', 'silent'] as const) {
    test(`the memory is bounded and callers do not wait while the collector is ${fault}`, async (t) => {
      const collector = await startTraceCollector();
      if (fault === 'silent') collector.respondWith('silence');
      const variables =
        fault === 'down' ? { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' } : {};
      const { tracer, metric } = await startTracer(t, variables, collector);
      const startedAtMs = performance.now();
      recordRequests(tracer, 20_000);
      const microseconds = ((performance.now() - startedAtMs) * 1000) / 20_000;
      assert.ok(microseconds < 500, `${microseconds} µs for a span`);
      // 2,048 wait and 512 are being sent.
      assert.ok((await metric(dropped('queue_full'))) >= 20_000 - 2048 - 512);
      await until(async () => (await metric(dropped('unreachable'))) >= 512, 'a dropped batch');
      assert.equal(await metric(exported), 0);
    });
  }

  test('the stop exports what waits, and does not wait long for a silent collector', async (t) => {
    const { tracer, collector } = await startTracer(t, { OTEL_BSP_SCHEDULE_DELAY: '60000' });
    recordRequests(tracer, 5);
    await tracer.stop();
    assert.equal(collector.spans.length, 5);
    const {
      tracer: other,
      collector: silent,
      metric,
    } = await startTracer(t, {
      OTEL_BSP_SCHEDULE_DELAY: '60000',
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
    });
    silent.respondWith('silence');
    recordRequests(other, 600);
    const startedAtMs = performance.now();
    await other.stop();
    assert.ok(performance.now() - startedAtMs < 10_000);
    assert.ok((await metric(dropped('stopped'))) > 0);
  });

  test('the certificate of the collector is checked with OTEL_EXPORTER_OTLP_CERTIFICATE', async (t) => {
    const certificate = await makeCertificate('collector');
    const caFile = join(dataDir, 'collector.pem');
    await writeFile(caFile, certificate.cert);
    for (const isTrusted of [true, false]) {
      const collector = await startTraceCollector(() => createTlsServer(certificate));
      const variables = {
        OTEL_EXPORTER_OTLP_ENDPOINT: `https://127.0.0.1:${collector.port}`,
        ...(isTrusted ? { OTEL_EXPORTER_OTLP_CERTIFICATE: caFile } : {}),
      };
      const { tracer, metric } = await startTracer(t, variables, collector);
      recordRequests(tracer, 1);
      const series = isTrusted ? exported : dropped('unreachable');
      await until(async () => (await metric(series)) === 1, series);
      assert.equal(collector.spans.length, isTrusted ? 1 : 0);
    }
  });

  test('a client key that is not PEM is an error of the settings at the start', async () => {
    const file = join(dataDir, 'not-a-key.pem');
    await writeFile(file, 'not PEM');
    const settings = readSettings({
      SWITCHYARD_DATA_DIR: dataDir,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: file,
      OTEL_EXPORTER_OTLP_CLIENT_KEY: file,
    });
    const log = createLog({ logLevel: 'silent', instanceName: 'test' });
    assert.throws(
      () => createTracer({ settings, log, metrics: createMetrics() }),
      /OTEL_EXPORTER_OTLP_CLIENT_KEY cannot be used/,
    );
  });

  test('without a collector there is no tracer', () => {
    const settings = readSettings({
      SWITCHYARD_DATA_DIR: dataDir,
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
    });
    const log = createLog({ logLevel: 'silent', instanceName: 'test' });
    assert.equal(createTracer({ settings, log, metrics: createMetrics() }), undefined);
  });
});
