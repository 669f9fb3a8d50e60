// Compares WebSocket traffic with the AsyncAPI document: messages, their replies, and close codes.
import assert from 'node:assert/strict';
import { asyncApiDocument } from '@switchyard/contract';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { WebSocket } from 'ws';

type Json = Record<string, unknown>;
type Ref = { readonly $ref: string };
type Channel = {
  readonly address: string | null;
  readonly messages: Readonly<Record<string, Ref>>;
  readonly 'x-close-codes'?: readonly { readonly code: number; readonly reasons: string[] }[];
};
type Operation = {
  readonly action: 'send' | 'receive';
  readonly channel: Ref;
  readonly messages: readonly Ref[];
  readonly reply?: { readonly messages: readonly Ref[] };
};
export type SocketDocument = {
  readonly channels: Readonly<Record<string, Channel>>;
  readonly operations: Readonly<Record<string, Operation>>;
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly examples?: { payload: Json }[] }>>;
    readonly schemas: Readonly<Record<string, { readonly required?: string[] }>>;
  };
};

/** Receives the messages and the close of one connection. */
type ComparedConnection = {
  heard(data: Buffer, isBinary: boolean): void;
  sent(data: string | Buffer): void;
  closed(code: number, reason: string): void;
};

export type Comparison = {
  /** The differences between traffic and document. */
  readonly faults: readonly string[];
  /** The operations that occurred, and their replies: `claimTerminal > Claimed`. */
  readonly coveredOperations: ReadonlySet<string>;
  of(path: string): ComparedConnection;
};

const nameIn = ({ $ref }: Ref): string => $ref.split('/').at(-1) ?? '';

/** These codes never appear in a frame: the peer sent no code (1005) or no close frame (1006). */
const reservedCloseCodes = new Set([1005, 1006]);

function jsonIn(data: string | Buffer): Json | undefined {
  try {
    const value: unknown = JSON.parse(data.toString());
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

export const documentOfTests = asyncApiDocument({
  baseUrl: 'https://localhost:8443',
  deviceUrl: 'https://localhost:9021',
  version: '0.0.0',
}) as unknown as SocketDocument;

/** The names of the messages that the platform accepts at a channel. */
export const messagesTakenAt = (channel: string): string[] =>
  Object.values(documentOfTests.operations)
    .filter((one) => one.action === 'receive' && nameIn(one.channel) === channel)
    .flatMap(({ messages }) => messages.map(nameIn));

export function exampleOf(name: string): Json {
  const [example] = documentOfTests.components.messages[name]?.examples ?? [];
  assert.ok(example !== undefined, `${name} has no example`);
  return example.payload;
}

export const requiredOf = (name: string): readonly string[] =>
  documentOfTests.components.schemas[`${name}Message`]?.required ?? [];

/** For each message of the document, a check of a payload against its schema. */
function validatorsOf(document: SocketDocument): (name: string) => ValidateFunction {
  const ajv = new Ajv({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'asyncapi', ...document });
  const made = new Map<string, ValidateFunction>();
  return (name) => {
    const cached = made.get(name);
    if (cached !== undefined) return cached;
    const validate = ajv.compile({ $ref: `asyncapi#/components/messages/${name}/payload` });
    made.set(name, validate);
    return validate;
  };
}

type Parts = {
  readonly document: SocketDocument;
  readonly validator: (name: string) => ValidateFunction;
  readonly faults: string[];
  readonly coveredOperations: Set<string>;
};

type NamedChannel = { readonly name: string; readonly channel: Channel };

function connectionOf({ name, channel }: NamedChannel, parts: Parts): ComparedConnection {
  const { document, validator, faults, coveredOperations } = parts;
  const requests: Json[] = [];
  const isOpaque = 'TerminalData' in channel.messages;
  const operations = Object.entries(document.operations).filter(
    ([, one]) => nameIn(one.channel) === name,
  );
  const fitting = (refs: readonly Ref[], message: unknown) =>
    refs.map(nameIn).filter((each) => validator(each)(message));
  const note = (action: Operation['action'], message: unknown): boolean =>
    operations.some(([operation, { action: done, messages }]) => {
      const isOne = done === action && fitting(messages, message).length === 1;
      if (isOne) coveredOperations.add(operation);
      return isOne;
    });

  function answers(question: Json, message: Json): boolean {
    if (question['requestId'] !== message['requestId']) return false;
    return operations.some(([operation, { action, messages, reply }]) => {
      if (action !== 'receive' || fitting(messages, question).length !== 1) return false;
      const matches = fitting(reply?.messages ?? [], message);
      for (const answer of matches) coveredOperations.add(`${operation} > ${answer}`);
      return matches.length === 1;
    });
  }

  return {
    heard(data, isBinary) {
      const message = isOpaque ? {} : isBinary ? undefined : jsonIn(data);
      const isDocumented =
        message !== undefined &&
        (requests.some((question) => answers(question, message)) || note('send', message));
      if (!isDocumented) faults.push(`${name} does not document ${data}`);
    },
    sent(data) {
      const message = isOpaque ? {} : typeof data === 'string' ? jsonIn(data) : undefined;
      // A text that is no message of the protocol is skipped; the platform must refuse it.
      if (message !== undefined && note('receive', message) && !isOpaque) requests.push(message);
    },
    closed(code, reason) {
      if (reservedCloseCodes.has(code)) return;
      const closing = channel['x-close-codes']?.find((one) => one.code === code);
      const word = reason.split(':')[0] ?? '';
      const isKnown = closing?.reasons.includes(word) ?? false;
      if (isKnown || (closing?.reasons.length === 0 && reason === '')) return;
      faults.push(`${name} does not document the close code ${code} ${reason}`);
    },
  };
}

/** @example const comparison = createComparison(); comparison.of(path).heard(data, isBinary); */
export function createComparison(document = documentOfTests): Comparison {
  const parts = {
    document,
    validator: validatorsOf(document),
    faults: [],
    coveredOperations: new Set<string>(),
  };
  const channels = Object.entries(document.channels).flatMap(([name, channel]) =>
    channel['x-close-codes'] === undefined || channel.address === null
      ? []
      : [{ name, channel, form: new RegExp(`^${channel.address.replace(/\{\w+\}/, '[^/]+')}$`) }],
  );
  return {
    faults: parts.faults,
    coveredOperations: parts.coveredOperations,
    of(path) {
      const channel = channels.find(({ form }) => form.test(path.split('?', 1)[0] ?? ''));
      assert.ok(channel !== undefined, `${path} is no channel of the document`);
      return connectionOf(channel, parts);
    },
  };
}

/** Compares a connection after it opens; refused paths need not be in the document. */
export function watch(comparison: Comparison, path: string, socket: WebSocket) {
  let connection: ComparedConnection | undefined;
  socket.on('open', () => {
    connection = comparison.of(path);
  });
  socket.on('message', (data, isBinary) => {
    connection?.heard(data as Buffer, isBinary);
  });
  socket.on('close', (code, reason) => connection?.closed(code, reason.toString()));
  return {
    sent: (data: string | Buffer) => connection?.sent(data),
    /** The test closes the connection itself, so the close code is not compared. */
    closing(): void {
      connection = undefined;
    },
  };
}
