/** A call as it is filled in, what of it is sent, and the same as a command. */
import { command, quoted } from '../../components/values/shell-command.ts';
import { newId } from '../../session/random-values.ts';
import { formType, type Operation, type Parameter } from './parse-openapi.ts';

export type Filled = {
  readonly parameters: Readonly<Record<string, string>>;
  /** `name: value`, one a line. */
  readonly headers: string;
  readonly bodyType: string;
  readonly body: string;
};

/** The session says who asks; a token that is typed here would be one in the browser. */
const reservedHeaders = [
  'authorization',
  'cookie',
  'x-switchyard-portal',
  'host',
  'content-length',
];

/** Identifiers of the client: an example that is sent twice shall be two requests. */
const ownIdentifiers = ['clientTransactionId', 'clientOperationId', 'orderId'];

export const keyOf = ({ location, name }: Pick<Parameter, 'location' | 'name'>): string =>
  `${location}.${name}`;

function withOwnIdentifiers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withOwnIdentifiers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      ownIdentifiers.includes(name) && typeof member === 'string'
        ? newId()
        : withOwnIdentifiers(member),
    ]),
  );
}

/** An example as it stands in the field. */
export function exampleText(value: unknown, isForm = false): string {
  if (typeof value === 'string') return value;
  if (isForm && typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, member]) => `${name}=${String(member)}`)
      .join('\n');
  }
  return JSON.stringify(withOwnIdentifiers(value), undefined, 2);
}

export function firstFilled(
  { parameters, bodies }: Operation,
  sessionValues: Readonly<Record<string, string | undefined>>,
  urlValues: Readonly<Record<string, string>>,
): Filled {
  const [body] = bodies;
  const example = body?.examples[0];
  const filled = parameters.flatMap((parameter) => {
    const { name, location } = parameter;
    const value = urlValues[name] ?? (location === 'path' ? sessionValues[name] : undefined);
    return value === undefined ? [] : [[keyOf(parameter), value] as const];
  });
  return {
    parameters: Object.fromEntries(filled),
    headers: '',
    bodyType: body?.type ?? '',
    body: example === undefined ? '' : exampleText(example.value, body?.type === formType),
  };
}

export type Header = readonly [name: string, value: string];

/** Undefined where a line is no header, or one that the page has to send itself. */
export function headersOf(text: string): readonly Header[] | undefined {
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

const filledOf = (filled: Filled, parameter: Parameter): string =>
  (filled.parameters[keyOf(parameter)] ?? '').trim();

/** Nothing, or a step up in the address: neither can stand in a path. */
const isNowhere = (value: string) => ['', '.', '..'].includes(value);

/** The names of what has to be filled in, and is not. */
export function lackingOf({ parameters, isBodyRequired }: Operation, filled: Filled): string[] {
  const lacking = parameters.filter(
    (parameter) => parameter.isRequired && isNowhere(filledOf(filled, parameter)),
  );
  return [
    ...lacking.map(({ name }) => name),
    ...(isBodyRequired && filled.body.trim() === '' ? ['body'] : []),
  ];
}

export type Request = {
  readonly method: string;
  /** With its query, at the platform itself: nothing that is typed leads anywhere else. */
  readonly address: string;
  readonly headers: readonly Header[];
  readonly body: { readonly type: string; readonly text: string } | undefined;
};

/** What is answered besides a problem; streams are for programs. */
function acceptedBy({ answers }: Operation): string {
  const types = answers
    .filter(({ status }) => status.startsWith('2'))
    .flatMap((answer) => answer.types)
    .filter((type) => type !== 'text/event-stream');
  return [...new Set([...types, 'application/json', 'application/problem+json'])].join(', ');
}

export function requestOf(operation: Operation, filled: Filled): Request {
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
    headers: [...headers, ...(headersOf(filled.headers) ?? [])],
    body: hasBody ? { type: filled.bodyType, text: filled.body } : undefined,
  };
}

const formLines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** With places to fill for whatever proves who asks. */
export function curlOf(operation: Operation, filled: Filled, origin: string): string {
  const { method, address, headers, body } = requestOf(operation, filled);
  const proof =
    operation.access === 'certificate'
      ? ['--cert device.crt', '--key device.key']
      : operation.access === 'public'
        ? []
        : [`-H ${quoted('Authorization: Bearer <ACCESS_TOKEN>')}`];
  const isForm = body?.type === formType;
  const content =
    body === undefined
      ? []
      : isForm
        ? formLines(body.text).map((line) => `--data-urlencode ${quoted(line)}`)
        : [`-H ${quoted(`Content-Type: ${body.type}`)}`, `--data-raw ${quoted(body.text)}`];
  return command(`curl -X ${method} ${quoted(origin + address)}`, [
    ...proof,
    ...headers
      .filter(([name]) => name !== 'accept')
      .map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...content,
  ]);
}
