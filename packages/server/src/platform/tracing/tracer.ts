// Starts the spans that have no parent in this process, and decides which of them are sampled.
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { defined } from '@switchyard/contract';
import { buildVersion } from '../observability/build-version.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';
import { createOtlpExporter, type ExporterOptions } from './otlp-exporter.ts';
import { createOtlpEncoder } from './otlp-json.ts';
import { type Span, type SpanAttributes, type SpanKind, startSpan } from './span.ts';
import { createRandomShare, parseTraceparent } from './trace-context.ts';

export type Tracer = {
  /** Undefined if the request is not sampled. Call it after the authentication. */
  startRequest(
    request: IncomingRequest,
    name: string,
    attributes: SpanAttributes,
  ): Span | undefined;
  /**
   * Work that the platform does later begins its own trace, with a link to its cause. It is sampled if its cause was;
   * work without a cause is sampled by the ratio.
   *
   * @param cause the traceparent that was stored with the work
   */
  startLinked(cause: unknown, name: string, attributes: SpanAttributes): Span | undefined;
  /** Continues a trace of which the platform stored the traceparent. */
  continueTrace(
    traceparent: string,
    name: string,
    kind: SpanKind,
    attributes: SpanAttributes,
  ): Span | undefined;
  /** Exports the spans that wait. */
  stop(): Promise<void>;
};

export type IncomingRequest = {
  /** The header `traceparent` as it was received. */
  readonly traceparent: string | undefined;
  /** The trace and the decision of other callers are ignored. */
  readonly isAuthenticated: boolean;
  /** Time since the request arrived. */
  readonly elapsedMs?: number;
};

export type TracingSettings = Pick<
  Settings,
  | 'otlpEndpoint'
  | 'otlpHeaders'
  | 'otlpTimeoutMs'
  | 'traceExportIntervalMs'
  | 'otlpCaFile'
  | 'otlpClientCertFile'
  | 'otlpClientKeyFile'
  | 'traceServiceName'
  | 'traceResourceAttributes'
  | 'tracesSampler'
  | 'tracesSamplerRatio'
  | 'callerTracesPerSecond'
  | 'instanceName'
  | 'environment'
>;

type TracerDeps = {
  readonly settings: TracingSettings;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly metrics: Pick<Metrics, 'counter'>;
  readonly retryTimes?: ExporterOptions['retryTimes'];
};

/**
 * Undefined without a collector: no other function of tracing is called then.
 *
 * @example const tracer = createTracer({ settings, log, metrics });
 */
export function createTracer({ settings, ...deps }: TracerDeps): Tracer | undefined {
  const { otlpEndpoint, otlpTimeoutMs, otlpHeaders = {} } = settings;
  if (otlpEndpoint === undefined) return undefined;
  const exporter = createOtlpExporter({
    ...deps,
    url: new URL(`${otlpEndpoint}/v1/traces`),
    headers: otlpHeaders,
    timeoutMs: otlpTimeoutMs,
    exportIntervalMs: settings.traceExportIntervalMs,
    secureContext: otlpEndpoint.startsWith('https:') ? readTlsFiles(settings) : undefined,
    encode: createOtlpEncoder(resourceOf(settings), buildVersion.version),
  });
  const { record } = exporter;
  const { isParentBased, ratio } = samplerOf(settings);
  const takesCallerTrace = createSecondLimit(settings.callerTracesPerSecond);
  // Not by the trace identifier: a caller could choose identifiers that are always sampled.
  const isSampledByRatio = (): boolean => ratio === 1 || createRandomShare() < ratio;

  return {
    startRequest({ traceparent, isAuthenticated, elapsedMs = 0 }, name, attributes) {
      const parent = isAuthenticated ? parseTraceparent(traceparent) : undefined;
      const followsParent = isParentBased && parent !== undefined;
      if (followsParent && !parent.isSampled) return undefined;
      const isSampled = (followsParent && takesCallerTrace()) || isSampledByRatio();
      if (!isSampled) return undefined;
      return startSpan(record, parent, name, {
        kind: 'server',
        attributes,
        startedBeforeMs: elapsedMs,
      });
    },
    startLinked(cause, name, attributes) {
      const link = parseTraceparent(cause);
      if (link === undefined && !isSampledByRatio()) return undefined;
      const links = link === undefined ? [] : [link];
      return startSpan(record, undefined, name, { kind: 'consumer', attributes, links });
    },
    continueTrace(traceparent, name, kind, attributes) {
      const parent = parseTraceparent(traceparent);
      return parent && startSpan(record, parent, name, { kind, attributes });
    },
    stop: exporter.stop,
  };
}

function samplerOf({ tracesSampler, tracesSamplerRatio }: TracingSettings) {
  const isParentBased = tracesSampler.startsWith('parentbased_');
  if (tracesSampler.endsWith('always_on')) return { isParentBased, ratio: 1 };
  return { isParentBased, ratio: tracesSampler.endsWith('always_off') ? 0 : tracesSamplerRatio };
}

const secondMs = 1000;

function createSecondLimit(perSecond: number): () => boolean {
  let count = 0;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (nowMs - startedAtMs >= secondMs) {
      startedAtMs = nowMs;
      count = 0;
    }
    count += 1;
    return count <= perSecond;
  };
}

/** `OTEL_SERVICE_NAME` has precedence over `OTEL_RESOURCE_ATTRIBUTES`. */
function resourceOf(settings: TracingSettings): Record<string, string> {
  const { traceServiceName, instanceName, environment } = settings;
  return {
    'service.name': 'switchyard',
    'service.version': buildVersion.version,
    'service.instance.id': instanceName,
    'deployment.environment.name': environment,
    ...settings.traceResourceAttributes,
    ...defined({ 'service.name': traceServiceName }),
  };
}

/**
 * At the start: a request with a wrong file would throw.
 *
 * @throws SettingsError if a file is not PEM, or the key does not belong to the certificate
 */
function readTlsFiles(settings: TracingSettings): SecureContext {
  const { otlpCaFile, otlpClientCertFile, otlpClientKeyFile } = settings;
  const read = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file));
  const files = defined({
    ca: read(otlpCaFile),
    cert: read(otlpClientCertFile),
    key: read(otlpClientKeyFile),
  });
  try {
    return createSecureContext({ minVersion: 'TLSv1.2', ...files });
  } catch (error) {
    throw new SettingsError([
      `OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE or OTEL_EXPORTER_OTLP_CLIENT_KEY cannot be used: ${String(error)}`,
    ]);
  }
}
