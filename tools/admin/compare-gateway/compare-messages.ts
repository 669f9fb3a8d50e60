// Compares each message of a trace: a request with the one of the platform, a response with the rules of the platform.
import { defined } from '@switchyard/contract';
import {
  type CompiledHost,
  compileDialect,
  compileHost,
  type HostTable,
  Iso8583Error,
  type Message,
} from '@switchyard/iso8583';
import {
  type AcquirerRequest,
  isNetworkManagement,
  isRequest,
  isSupportedFunction,
} from '../../../packages/server/src/acquiring/index.ts';
import { isoTime } from '../../../packages/server/src/platform/index.ts';
import { checkResponse } from './check-response.ts';
import { compareFields, type FieldComparison } from './compare-fields.ts';
import { createPaymentDeriver, isFirstMessage, ownFields } from './payment-from-message.ts';
import { createProductionMessages } from './production-messages.ts';
import { createRecentEntries } from './recent-entries.ts';
import type { RecordedMessage } from './recorded-message.ts';
import { createRecordedSales, type RecordedSale, toRecordedSale } from './recorded-sales.ts';

/**
 * `NotSent`: the platform sends no such message. `NotCompared`: the trace does not show enough. `Unreadable`: not a
 * message of the table. `Refused`: a response after which the platform reverses. `Unmatched`: a response without its
 * request.
 */
export type ComparisonResult =
  | 'Equal'
  | 'Different'
  | 'NotSent'
  | 'NotCompared'
  | 'Unreadable'
  | 'Approved'
  | 'Declined'
  | 'Refused'
  | 'Unmatched';

/** Without card data. */
export type ComparedMessage = {
  readonly position: string;
  readonly time?: string;
  readonly connection?: string;
  readonly direction?: RecordedMessage['direction'];
  /** `Sale`, `Capture`, …; `Network` for a network message. */
  readonly operation?: string;
  readonly result: ComparisonResult;
  readonly reason?: string;
  /** Of a response: the time since its request. */
  readonly responseMs?: number;
  readonly fields?: readonly FieldComparison[];
};

type Outcome = Omit<ComparedMessage, 'position' | 'time' | 'connection' | 'direction'>;

/** A payment that the platform can send too: its response is checked. */
type ComparedPayment = {
  readonly request: Message;
  readonly currency: string;
  readonly sale: RecordedSale | undefined;
};

/** A request that waits for its response. */
type PendingRequest = {
  readonly request: Message;
  readonly operation: string | undefined;
  readonly atMs: number | undefined;
  readonly payment: ComparedPayment | undefined;
};

const pendingRequestsMin = 20_000;
const connectionsMin = 10_000;
const macFields = [64, 128] as const;
const macBytes = 8;
const trackField = 35;
/** Shorter values occur in other fields by chance. */
const minSecretCharacters = 12;
const networkOperation = 'Network';
const approvedNetworkCode = '00';

/** Decodes recorded bytes to the form of the host or to the canonical form, and encodes messages of the platform. */
function createHostCodec(host: CompiledHost) {
  const { table } = host;
  const dialect = compileDialect(table.messages);
  const ignoreTexts = { canIgnore: host.canIgnoreField, onIgnored: () => undefined };
  const encode = (message: Message): Buffer =>
    host.requiresMac(message.mti)
      ? host.encodeWithoutMac(message).seal(Buffer.alloc(macBytes))
      : host.encode(message);
  return {
    /** As the host writes it, with its message authentication code. */
    readHostForm: (payload: Buffer): Message => dialect.decode(payload, ignoreTexts),
    /** `hasMac` is false if the message needs a message authentication code and has none. */
    readCanonical(
      payload: Buffer,
      findRequest: (response: Message) => Message | undefined,
    ): { message: Message; hasMac: boolean } {
      if (table.mac === undefined)
        return { message: host.decode(payload, ignoreTexts, findRequest), hasMac: true };
      const { message, code } = host.decodeWithMac(payload, ignoreTexts, findRequest);
      return { message, hasMac: code !== undefined || !host.requiresMac(message.mti) };
    },
    encode,
  };
}

/**
 * @param ignored fields of the host that are not compared
 * @param startMs the time of messages without a time, epoch ms
 */
export function createMessageComparer(
  table: HostTable,
  ignored: readonly number[],
  startMs: number,
) {
  // The times of messages have no year: the table takes the year of the recording.
  let nowMs = startMs;
  const host = compileHost(table, { now: () => nowMs });
  const codec = createHostCodec(host);
  const production = createProductionMessages(host);
  const sales = createRecordedSales();
  const derivePayment = createPaymentDeriver(production, sales);
  const pending = createRecentEntries<PendingRequest>(pendingRequestsMin);
  const connectionsWithRequest = createRecentEntries<true>(connectionsMin);
  const ignoredFields = new Set([...ignored, ...(table.mac === undefined ? [] : macFields)]);
  const comparesBytes = ignoredFields.size === 0;

  function compareWith(
    { payload }: RecordedMessage,
    recorded: Message,
    platform: Message,
    secrets: readonly string[],
  ): Outcome {
    let bytes: Buffer;
    try {
      bytes = codec.encode(platform);
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
      return { result: 'NotSent', reason: `the table cannot encode the message: ${error.message}` };
    }
    const fields = compareFields(codec.readHostForm(payload), codec.readHostForm(bytes), {
      table,
      ignored: ignoredFields,
      ownValues: new Set(ownFields.filter((field) => recorded.fields[field] === undefined)),
      secrets,
    });
    if (fields.some(({ status }) => status !== 'Equal')) return { result: 'Different', fields };
    if (!comparesBytes || bytes.equals(payload)) return { result: 'Equal', fields };
    const position = bytes.findIndex((byte, at) => byte !== payload[at]);
    const reason = `the fields are equal, but the bytes differ from byte ${position === -1 ? bytes.length : position}`;
    return { result: 'Different', reason, fields };
  }

  const secretsOf = ({ card }: AcquirerRequest, { fields }: Message): string[] =>
    [card.pan, fields[trackField] ?? ''].filter((text) => text.length >= minSecretCharacters);

  function compareNetworkRequest(recorded: RecordedMessage, message: Message): Outcome {
    const platform = production.buildNetworkMessage(message);
    const outcome: Outcome =
      platform === undefined
        ? {
            result: 'NotSent',
            reason: 'the platform sends no network message with this function (70)',
          }
        : compareWith(recorded, message, platform, []);
    return { operation: networkOperation, ...outcome };
  }

  function comparePayment(
    recorded: RecordedMessage,
    message: Message,
  ): { outcome: Outcome; payment?: ComparedPayment } {
    const derived = derivePayment(message, recorded.atMs);
    if (derived.result !== 'Payment') return { outcome: derived };
    const { request, institutionId } = derived;
    const { kind: operation, currency } = request;
    const sale = isFirstMessage(operation) ? toRecordedSale(request) : undefined;
    if (sale !== undefined) sales.add(sale);
    const platform = production.build(request, institutionId);
    const outcome = compareWith(recorded, message, platform, secretsOf(request, message));
    // The recorded message can lack the reason of a reversal, which selects its operation in the table.
    const sent = { ...message, fields: { ...message.fields, 25: platform.fields[25] } };
    return { outcome: { operation, ...outcome }, payment: { request: sent, currency, sale } };
  }

  function compareRequest(recorded: RecordedMessage, message: Message): Outcome {
    if (!isRequest(message))
      return { result: 'NotCompared', reason: 'an answer of the gateway to a request of the host' };
    connectionsWithRequest.set(recorded.connection, true);
    const { outcome, payment } = isNetworkManagement(message)
      ? { outcome: compareNetworkRequest(recorded, message), payment: undefined }
      : comparePayment(recorded, message);
    const { operation } = outcome;
    const request = payment?.request ?? message;
    const facts = { request, operation, atMs: recorded.atMs, payment };
    pending.set(production.correlationKey(message), facts);
    return outcome;
  }

  /** The result of a response whose request is in the trace. */
  function checkPayment(
    payment: ComparedPayment,
    response: Message,
  ): Pick<Outcome, 'result' | 'reason'> {
    const { sale } = payment;
    const check = checkResponse(production, payment, response);
    if (sale === undefined || check.result === 'Refused') return check;
    sale.hasResponse = true;
    const { result, retrievalReference: rrn } = check;
    const { 38: authorizationCode } = response.fields;
    if (result === 'Approved' && authorizationCode !== undefined)
      sale.authorizationCode = authorizationCode.trim();
    if (rrn !== undefined) sale.reference = { ...sale.reference, rrn, rrnAssignedBy: 'Host' };
    // Later messages can name the sale by the numbers of the response.
    sales.add(sale);
    return { result };
  }

  function compareResponse(recorded: RecordedMessage, response: Message): Outcome {
    const key = production.correlationKey(response);
    const entry = pending.get(key);
    pending.delete(key);
    if (entry === undefined) {
      const reason = 'no request has the same numbers: the platform would ignore the response';
      return connectionsWithRequest.get(recorded.connection)
        ? { result: 'Unmatched', reason }
        : { result: 'NotCompared', reason: 'the request of the response is not in the trace' };
    }
    const { operation, atMs, payment } = entry;
    const responseMs =
      atMs === undefined || recorded.atMs === undefined ? undefined : recorded.atMs - atMs;
    const facts = defined({ operation, responseMs });
    if (payment !== undefined) return { ...facts, ...checkPayment(payment, response) };
    if (operation === networkOperation) {
      const isApproved = response.fields[39] === approvedNetworkCode;
      return { ...facts, result: isApproved ? 'Approved' : 'Declined' };
    }
    const reason =
      'the response to a request that the platform does not send, or that was not compared';
    return { ...facts, result: 'NotCompared', reason };
  }

  function compareFromHost(
    recorded: RecordedMessage,
    { message, hasMac }: { message: Message; hasMac: boolean },
  ): Outcome {
    if (!hasMac) {
      const reason = 'the message has no message authentication code: the platform would ignore it';
      return { result: 'Refused', reason };
    }
    if (!isRequest(message)) return compareResponse(recorded, message);
    const isAnswered = isNetworkManagement(message) && isSupportedFunction(message);
    const reason = isAnswered
      ? 'a network message of the host, which the platform approves'
      : 'a request of the host that the platform does not approve';
    return { result: 'NotCompared', reason };
  }

  const findRequest = (response: Message): Message | undefined =>
    pending.get(production.correlationKey(response))?.request;

  function compareDecoded(recorded: RecordedMessage): Outcome {
    try {
      const decoded = codec.readCanonical(recorded.payload, findRequest);
      return recorded.direction === 'ToHost'
        ? compareRequest(recorded, decoded.message)
        : compareFromHost(recorded, decoded);
    } catch (error) {
      // The message of this error has the field and the byte, and no value.
      if (!(error instanceof Iso8583Error)) throw error;
      return { result: 'Unreadable', reason: error.message };
    }
  }

  return {
    compare(recorded: RecordedMessage): ComparedMessage {
      const { atMs, position, connection, direction } = recorded;
      nowMs = atMs ?? nowMs;
      const time = atMs === undefined ? undefined : isoTime(atMs);
      return { position, connection, direction, ...defined({ time }), ...compareDecoded(recorded) };
    },
    framing: host.framing,
    /** The number of requests without a response until now. */
    countUnanswered: pending.size,
  };
}
