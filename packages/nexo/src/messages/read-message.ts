/** Reads messages tolerantly: it checks known members and keeps unknown ones. */
import { defined } from '../defined.ts';
import { bodyNameOf, categoryRules } from '../table/categories.ts';
import type { Structure } from '../table/structures.ts';
import {
  type CheckNotes,
  checkStructure,
  type Fault,
  isObject,
  note,
  notesFor,
  noteUnknown,
} from './check-structure.ts';
import {
  type AnyMessage,
  bodyMemberOf,
  type EnvelopeName,
  envelopeOf,
  type Header,
} from './message.ts';
import {
  type Json,
  JsonError,
  type JsonObject,
  memberOf,
  parseBounded,
} from './parse-bounded-json.ts';

/**
 * A protected message, not opened yet: header in clear, body encrypted.
 *
 * Source: public documentation of the Terminal API, "Protect local communications".
 *
 * @example
 * if (reading.kind === 'Protected') reading = protection.open(reading);
 */
export type ProtectedReading = {
  readonly kind: 'Protected';
  readonly header: Header;
  readonly envelope: EnvelopeName;
  /** Base64 of the encrypted message. */
  readonly blob: string;
  /** Which key, and what the check needs; looked at when the message is opened. */
  readonly trailer: Readonly<Record<string, unknown>>;
};

/**
 * The result of reading a text.
 *
 * - `Message`: understood. `unknown` points at members and values that the table does not have: they
 *   are kept in their place and ignored.
 * - `Protected`: to be opened first.
 * - `Faulty`: header understood, body not. A request is answered `MessageFormat`. Of a response whose
 *   outcome could be read all the same, `response` holds it.
 * - `Unreadable`: no header, so no answer is possible; a terminal sends a `Reject` event.
 *
 * Source: ADR 0049.
 *
 * @example
 * const reading = readMessage(text);
 * if (reading.kind === 'Message') handle(reading.message);
 */
export type Reading =
  | {
      readonly kind: 'Message';
      readonly message: AnyMessage;
      readonly unknown: readonly string[];
    }
  | ProtectedReading
  | {
      readonly kind: 'Faulty';
      readonly header: Header;
      readonly faults: readonly Fault[];
      readonly response?: Structure<'Response'>;
    }
  | { readonly kind: 'Unreadable'; readonly faults: readonly Fault[] };

const envelopes: readonly EnvelopeName[] = ['SaleToPOIRequest', 'SaleToPOIResponse'];

/**
 * Reads one message.
 *
 * Tolerated and put right: `null` for an absent member, one value where a list is due, a whole number
 * where a text is due. Unknown members and values of open sets are kept. Refused are texts beyond the
 * limits, members that stand there twice, values of closed sets that are unknown, and amounts of more
 * digits than a number holds exactly. Never throws.
 *
 * Source: `contract.md` 9 ("read tolerantly"); nexo Sale to POI 3.0 for what is checked.
 *
 * @param source - a text, or bytes of UTF-8
 * @returns what it is
 * @example
 * const reading = readMessage(socketData);
 * if (reading.kind === 'Faulty') send(writeMessage(failureTo(reading.header, 'MessageFormat', { at })));
 */
export function readMessage(source: string | Uint8Array): Reading {
  return readWith(source, true);
}

/** Reads with or without forgiveness; the latter is how a message is checked that is to be written. */
export function readWith(source: string | Uint8Array, tolerant: boolean): Reading {
  try {
    const { value, inexact } = parseBounded(source);
    return readEnvelope(value, notesFor(inexact, tolerant));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return unreadable([{ pointer: error.pointer, problem: error.message }]);
  }
}

function unreadable(faults: readonly Fault[]): Reading {
  return { kind: 'Unreadable', faults };
}

function readEnvelope(value: Json, notes: CheckNotes): Reading {
  const presentEnvelopes = isObject(value)
    ? envelopes.filter((name) => Object.hasOwn(value, name))
    : [];
  const [name] = presentEnvelopes;
  if (!isObject(value) || name === undefined || presentEnvelopes.length > 1) {
    return unreadable([{ pointer: '', problem: `must hold one of ${envelopes.join(', ')}` }]);
  }
  const { [name]: envelope, ...outside } = value;
  const at = memberOf('', name);
  if (!isObject(envelope)) return unreadable([{ pointer: at, problem: 'must be an object' }]);
  for (const member of Object.keys(outside)) noteUnknown(notes, memberOf('', member));
  const header = readHeader(envelope, at, notes);
  if (header === undefined) return unreadable(notes.faults);
  if (Object.hasOwn(envelope, 'NexoBlob')) return readProtected(name, envelope, { header, at });
  checkHeader(header, name, { at: memberOf(at, 'MessageHeader'), notes });
  return readBody(envelope, { header, at, outside, notes });
}

function readHeader(envelope: JsonObject, at: string, notes: CheckNotes): Header | undefined {
  const pointer = memberOf(at, 'MessageHeader');
  const value = envelope['MessageHeader'];
  if (value === undefined) {
    note(notes, pointer, 'is missing');
    return undefined;
  }
  const header = checkStructure('MessageHeader', value, pointer, notes);
  return notes.faults.length > 0 ? undefined : (header as unknown as Header);
}

function readProtected(
  envelopeName: EnvelopeName,
  envelope: JsonObject,
  { header, at }: { header: Header; at: string },
): Reading {
  const { NexoBlob, SecurityTrailer } = envelope;
  if (typeof NexoBlob === 'string' && isObject(SecurityTrailer)) {
    const protectedParts = {
      header,
      envelope: envelopeName,
      blob: NexoBlob,
      trailer: SecurityTrailer,
    };
    return { kind: 'Protected', ...protectedParts };
  }
  const pointer = memberOf(at, typeof NexoBlob === 'string' ? 'SecurityTrailer' : 'NexoBlob');
  return { kind: 'Faulty', header, faults: [{ pointer, problem: 'has another form' }] };
}

/** Dependencies between the members of a header. */
function checkHeader(
  header: Header,
  envelope: EnvelopeName,
  { at, notes }: { at: string; notes: CheckNotes },
): void {
  const { MessageCategory: category, MessageClass, MessageType, ServiceID, DeviceID } = header;
  const facts = categoryRules(category);
  const fault = (member: string, problem: string) => note(notes, memberOf(at, member), problem);
  if (facts.class !== MessageClass) fault('MessageClass', 'does not belong to the category');
  if (facts.bodies[MessageType] === undefined) {
    fault('MessageType', 'does not belong to the category');
  }
  if (envelopeOf(MessageType) !== envelope) fault('MessageType', 'does not belong to the envelope');
  if (facts.class === 'Service' && ServiceID === undefined) fault('ServiceID', 'is missing');
  if (facts.class === 'Device' && (ServiceID ?? DeviceID) === undefined) {
    fault('DeviceID', 'is missing');
  }
  const versioned = category === 'Login' || category === 'Diagnosis';
  if (versioned && header.ProtocolVersion === undefined && !notes.tolerant) {
    fault('ProtocolVersion', 'is missing');
  }
}

type Envelope = { header: Header; at: string; outside: JsonObject; notes: CheckNotes };

function readBody(envelope: JsonObject, { header, at, outside, notes }: Envelope): Reading {
  const member = bodyMemberOf(header);
  const name = bodyNameOf(header.MessageCategory, header.MessageType);
  const { MessageHeader: _, [member]: value, ...more } = envelope;
  for (const other of Object.keys(more)) noteUnknown(notes, memberOf(at, other));
  const pointer = memberOf(at, member);
  if (value === undefined) note(notes, pointer, 'is missing');
  else if (name !== undefined) {
    const body = checkStructure(name, value, pointer, notes);
    if (notes.faults.length === 0) {
      const message = { header, body: body as JsonObject, ...optionalMember('more', more) };
      return {
        kind: 'Message',
        message: { ...message, ...optionalMember('outside', outside) },
        unknown: notes.unknown,
      };
    }
  }
  const response = soundResponse(header, value);
  return {
    kind: 'Faulty',
    header,
    faults: notes.faults,
    ...defined({ response }),
  };
}

function optionalMember<Name extends string>(
  name: Name,
  members: JsonObject,
): Partial<Record<Name, JsonObject>> {
  if (Object.keys(members).length === 0) return {};
  return { [name]: members } as Record<Name, JsonObject>;
}

/** The outcome in a response whose other members are at fault: it may report a captured amount. */
function soundResponse(header: Header, body: Json | undefined): Structure<'Response'> | undefined {
  if (header.MessageType !== 'Response' || !isObject(body)) return undefined;
  const value = body['Response'];
  if (value === undefined) return undefined;
  const notes = notesFor(new Set(), true);
  const response = checkStructure('Response', value, '', notes);
  return notes.faults.length > 0 ? undefined : (response as unknown as Structure<'Response'>);
}
