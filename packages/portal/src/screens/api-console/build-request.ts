/** Builds the HTTP request and the curl command from the filled-in fields. */
import { shellCommand, shellQuote } from '../../components/values/shell-command.ts';
import { newUuid } from '../../session/random-values.ts';
import { formType, type Operation, type Parameter } from './parse-openapi.ts';

export type FilledRequest = {
  readonly parameters: Readonly<Record<string, string>>;
  /** `name: value`, one per line. */
  readonly headers: string;
  readonly bodyType: string;
  readonly body: string;
};

/** The session authenticates the request; these headers would put a token into the browser. */
const reservedHeaders = [
  'authorization',
  'cookie',
  'x-switchyard-portal',
  'host',
  'content-length',
];

/** Client identifiers get new values, so that sending an example twice makes two requests. */
const ownIdentifiers = ['clientTransactionId', 'clientOperationId', 'orderId'];

export const parameterKey = ({ location, name }: Pick<Parameter, 'location' | 'name'>): string =>
  `${location}.${name}`;

function withOwnIdentifiers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withOwnIdentifiers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      ownIdentifiers.includes(name) && typeof member === 'string'
        ? newUuid()
        : withOwnIdentifiers(member),
    ]),
  );
}

/** The example as the text of the body field. */
export function exampleBodyText(value: unknown, isForm = false): string {
  if (typeof value === 'string') return value;
  if (isForm && typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, member]) => `${name}=${String(member)}`)
      .join('\n');
  }
  return JSON.stringify(withOwnIdentifiers(value), undefined, 2);
}

export function initialRequest(
  { parameters, bodies }: Operation,
  sessionValues: Readonly<Record<string, string | undefined>>,
  urlValues: Readonly<Record<string, string>>,
): FilledRequest {
  const [body] = bodies;
  const example = body?.examples[0];
  const filled = parameters.flatMap((parameter) => {
    const { name, location } = parameter;
    const value = urlValues[name] ?? (location === 'path' ? sessionValues[name] : undefined);
    return value === undefined ? [] : [[parameterKey(parameter), value] as const];
  });
  return {
    parameters: Object.fromEntries(filled),
    headers: '',
    bodyType: body?.type ?? '',
    body: example === undefined ? '' : exampleBodyText(example.value, body?.type === formType),
  };
}

export type Header = readonly [name: string, value: string];

/** Returns undefined if a line is not a header, or a header that the page sends itself. */
export function parseHeaderLines(text: string): readonly Header[] | undefined {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const headers = lines.map((line): Header | undefined => {
    const [, name, value] = /^([A-Za-z0-9-]+):\s*([\x20-\x7e]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    return reservedHeaders.includes(name.toLowerCase()) ? undefined : [name.toLowerCase(), value];
  });
  return headers.includes(undefined) ? undefined : (headers as readonly Header[]);
}

const filledOf = (filled: FilledRequest, parameter: Parameter): string =>
  (filled.parameters[parameterKey(parameter)] ?? '').trim();

/** Empty and relative path segments are not allowed in a path. */
const isNowhere = (value: string) => ['', '.', '..'].includes(value);

/** The names of the required fields without a value. */
export function missingFields(
  { parameters, isBodyRequired }: Operation,
  filled: FilledRequest,
): string[] {
  const lacking = parameters.filter(
    (parameter) => parameter.isRequired && isNowhere(filledOf(filled, parameter)),
  );
  return [
    ...lacking.map(({ name }) => name),
    ...(isBodyRequired && filled.body.trim() === '' ? ['body'] : []),
  ];
}

export type BuiltRequest = {
  readonly method: string;
  /** The path and query on the platform; the input cannot lead to another host. */
  readonly address: string;
  readonly headers: readonly Header[];
  readonly body: { readonly type: string; readonly text: string } | undefined;
};

/** The media types of the response. Streams are only for programs. */
function acceptedBy({ answers }: Operation): string {
  const types = answers
    .filter(({ status }) => status.startsWith('2'))
    .flatMap((answer) => answer.types)
    .filter((type) => type !== 'text/event-stream');
  return [...new Set([...types, 'application/json', 'application/problem+json'])].join(', ');
}

export function buildRequest(operation: Operation, filled: FilledRequest): BuiltRequest {
  const { method, path, parameters, bodies } = operation;
  let address = path;
  const query = new URLSearchParams();
  const headers: Header[] = [['accept', acceptedBy(operation)]];
  for (const parameter of parameters) {
    const value = filledOf(filled, parameter);
    const { name, location } = parameter;
    if (location === 'path') address = address.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== '' && location === 'query') query.set(name, value);
    else if (value !== '') headers.push([name.toLowerCase(), value]);
  }
  const text = query.toString();
  const hasBody = bodies.length > 0 && filled.body.trim() !== '';
  return {
    method,
    address: text === '' ? address : `${address}?${text}`,
    headers: [...headers, ...(parseHeaderLines(filled.headers) ?? [])],
    body: hasBody ? { type: filled.bodyType, text: filled.body } : undefined,
  };
}

const formLines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Contains placeholders for the credentials. */
export function curlCommand(operation: Operation, filled: FilledRequest, origin: string): string {
  const { method, address, headers, body } = buildRequest(operation, filled);
  const proof =
    operation.access === 'certificate'
      ? ['--cert device.crt', '--key device.key']
      : operation.access === 'public'
        ? []
        : [`-H ${shellQuote('Authorization: Bearer <ACCESS_TOKEN>')}`];
  const isForm = body?.type === formType;
  const content =
    body === undefined
      ? []
      : isForm
        ? formLines(body.text).map((line) => `--data-urlencode ${shellQuote(line)}`)
        : [`-H ${shellQuote(`Content-Type: ${body.type}`)}`, `--data-raw ${shellQuote(body.text)}`];
  return shellCommand(`curl -X ${method} ${shellQuote(origin + address)}`, [
    ...proof,
    ...headers
      .filter(([name]) => name !== 'accept')
      .map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
    ...content,
  ]);
}
