// Settings of traces. The variables OTEL_… have the names and the meaning of the OpenTelemetry specification.
import { choice, filePath, integer, text, ValueError, type ValueReader } from './value-readers.ts';

/** Without a slash at its end; the exporter adds `/v1/traces`. */
const collectorUrl: ValueReader<string> = {
  type: 'https or http URL',
  read(value) {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
      throw new ValueError('is not an https or http URL');
    if (url.username !== '' || url.search !== '' || url.hash !== '')
      throw new ValueError('must be a URL without user, query and fragment');
    return url.href.replace(/\/+$/, '');
  },
};

/** `name=value` separated by commas, percent-encoded. The error does not repeat a value. */
const nameValueList: ValueReader<Readonly<Record<string, string>>> = {
  type: 'list `name=value,…`, values percent-encoded',
  read(value) {
    const members = value.split(',').filter((member) => member.trim() !== '');
    return Object.fromEntries(members.map(readMember));
  },
};

/** RFC 9110, 5.5: an HTTP request with another value cannot be sent. */
const headerValuePattern = /^[\t -~\u0080-\u00ff]*$/;

const headerList: typeof nameValueList = {
  type: nameValueList.type,
  read(value) {
    const headers = nameValueList.read(value);
    const invalid = Object.entries(headers).find(([, each]) => !headerValuePattern.test(each));
    if (invalid !== undefined)
      throw new ValueError(`has a value of ${invalid[0]} that a header cannot contain`);
    return headers;
  },
};

function readMember(member: string): [string, string] {
  const [, name = '', encoded = ''] = /^\s*([\w.-]+)\s*=\s*([!-~]*)\s*$/.exec(member) ?? [];
  if (name === '') throw new ValueError('has a member that is not name=value');
  try {
    return [name, decodeURIComponent(encoded)];
  } catch {
    throw new ValueError(`has a value of ${name} that is not percent-encoded`);
  }
}

const ratio: ValueReader<number> = {
  type: 'number from 0 to 1',
  read(value) {
    const number = /^(?:0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(value) ? Number(value) : Number.NaN;
    if (Number.isNaN(number)) throw new ValueError(`is "${value}", not a number from 0 to 1`);
    return number;
  },
};

export const tracingSettings = {
  otlpEndpoint: {
    ...collectorUrl,
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description:
      'OTLP collector that gets the traces, such as `https://collector:4318`; the platform adds `/v1/traces`. Without it, the platform creates no traces.',
  },
  otlpProtocol: {
    ...choice('http/json'),
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    default: 'http/json',
    description: 'Encoding of the traces. Every OTLP collector accepts it on its HTTP port, 4318.',
  },
  otlpHeaders: {
    ...headerList,
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    secret: true,
    description:
      'Headers of each request to the collector, such as `authorization=Bearer%20token`.',
  },
  otlpTimeoutMs: {
    ...integer(100, 60_000),
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    default: '10000',
    description: 'Time-out for a response of the collector, in milliseconds.',
  },
  traceExportIntervalMs: {
    ...integer(50, 60_000),
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    default: '5000',
    description: 'Interval between two exports of traces, in milliseconds.',
  },
  otlpCaFile: {
    ...filePath,
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    description:
      'Certificates of the authorities that the collector’s certificate is checked with, PEM.',
    defaultDescription: 'the authorities of Node.js',
  },
  otlpClientCertFile: {
    ...filePath,
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    description: 'Client certificate chain for the collector, PEM.',
  },
  otlpClientKeyFile: {
    ...filePath,
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    description: 'Private key of the client certificate for the collector, PEM.',
  },
  traceServiceName: {
    ...text('name of up to 255 characters', /^[^\p{Cc}]{1,255}$/u),
    name: 'OTEL_SERVICE_NAME',
    description: 'Attribute `service.name` of the traces.',
    defaultDescription: '`switchyard`',
  },
  traceResourceAttributes: {
    ...nameValueList,
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    description:
      'Further attributes of the process in the traces, such as `k8s.namespace.name=payments`.',
  },
  tracesSampler: {
    ...choice(
      'parentbased_always_on',
      'parentbased_traceidratio',
      'parentbased_always_off',
      'always_on',
      'traceidratio',
      'always_off',
    ),
    name: 'OTEL_TRACES_SAMPLER',
    default: 'parentbased_always_on',
    description:
      'Which requests are traced. `traceidratio`: the share of `OTEL_TRACES_SAMPLER_ARG`. With `parentbased_`, the flag in the `traceparent` of an authenticated caller decides first, within `SWITCHYARD_CALLER_TRACES_PER_SECOND`.',
  },
  tracesSamplerRatio: {
    ...ratio,
    name: 'OTEL_TRACES_SAMPLER_ARG',
    default: '1',
    description: 'Share of the requests that `traceidratio` samples; use `0.01` for a high load.',
  },
  callerTracesPerSecond: {
    ...integer(0, 10_000),
    name: 'CALLER_TRACES_PER_SECOND',
    default: '10',
    description:
      'Requests per second of this process that are traced because their caller asks for it in `traceparent`. The sampler decides about further ones.',
  },
} as const;
