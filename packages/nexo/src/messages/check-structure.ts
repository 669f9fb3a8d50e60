/** Checks values against the table: one function for each structure, made once. */
import { amountDigitsMax, faultsMax, unknownMax } from '../limits.ts';
import {
  type FieldType,
  fieldTypes,
  type NumberFieldType,
  type TextFieldType,
} from '../table/field-types.ts';
import { type StructureName, structures } from '../table/structures.ts';
import { closedSets, openSets } from '../table/value-sets.ts';
import { type Json, type JsonObject, memberOf } from './parse-bounded-json.ts';

/**
 * One fault of a message.
 *
 * Source: RFC 6901 for the pointer.
 *
 * @example
 * const fault: Fault = { pointer: '/SaleToPOIRequest/MessageHeader/POIID', problem: 'is missing' };
 */
export type Fault = {
  /** A JSON pointer into the message. */
  readonly pointer: string;
  /** The problem; never the value. */
  readonly problem: string;
};

/** The findings of a check. */
export type CheckNotes = {
  readonly faults: Fault[];
  readonly unknown: string[];
  readonly inexact: ReadonlySet<string>;
  /** Whether other forms of a value are taken: null for absent, one for a list, a number for a text. */
  readonly tolerant: boolean;
};

/**
 * A check returns the value in the form of the table. It records a fault and returns the faulty
 * value unchanged.
 */
type Check = (value: Json, at: string, notes: CheckNotes) => Json;

/** Fresh notes. */
export function notesFor(inexact: ReadonlySet<string>, tolerant: boolean): CheckNotes {
  return { faults: [], unknown: [], inexact, tolerant };
}

/** Notes a fault, up to the limit. */
export function note(notes: CheckNotes, pointer: string, problem: string): void {
  if (notes.faults.length < faultsMax) notes.faults.push({ pointer, problem });
}

/** Notes a member that the table does not know. */
export function noteUnknown(notes: CheckNotes, pointer: string): void {
  if (notes.unknown.length < unknownMax) notes.unknown.push(pointer);
}

/** Returns whether a JSON value is an object. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const checksByName = new Map<string, Check>();

/** Checks a value as a structure. */
export function checkStructure(
  name: StructureName,
  value: Json,
  at: string,
  notes: CheckNotes,
): Json {
  return checkOf(name)(value, at, notes);
}

/** The check for a name of the table, made when it is first needed. */
function checkOf(name: string): Check {
  const cached = checksByName.get(name);
  if (cached !== undefined) return cached;
  const check = make(name);
  checksByName.set(name, check);
  return check;
}

function make(name: string): Check {
  if (Object.hasOwn(fieldTypes, name))
    return leafCheck(fieldTypes[name as keyof typeof fieldTypes]);
  if (Object.hasOwn(closedSets, name)) {
    return setCheck(closedSets[name as keyof typeof closedSets], true);
  }
  if (Object.hasOwn(openSets, name))
    return setCheck(openSets[name as keyof typeof openSets], false);
  return structureCheck(name as StructureName);
}

function setCheck(values: readonly string[], closed: boolean): Check {
  const allowed = new Set<Json>(values);
  return (value, at, notes) => {
    if (allowed.has(value)) return value;
    if (typeof value !== 'string' || value === '') note(notes, at, 'must be a name of its set');
    else if (closed) note(notes, at, 'is not in its set');
    else noteUnknown(notes, at);
    return value;
  };
}

function leafCheck(leaf: FieldType): Check {
  if (leaf.fieldKind === 'text') return textCheck(leaf);
  if (leaf.fieldKind === 'flag') {
    return (value, at, notes) => {
      if (typeof value !== 'boolean') note(notes, at, 'must be true or false');
      return value;
    };
  }
  if (leaf.fieldKind === 'opaque') {
    return (value, at, notes) => {
      if (typeof value !== 'string' && !isObject(value))
        note(notes, at, 'must be a text or object');
      return value;
    };
  }
  return numberCheck(leaf);
}

function textCheck({ pattern, max }: TextFieldType): Check {
  return (value, at, notes) => {
    const fromNumber = notes.tolerant && Number.isSafeInteger(value) && !notes.inexact.has(at);
    const text = fromNumber ? String(value) : value;
    if (typeof text !== 'string') note(notes, at, 'must be a text');
    else if (max !== undefined && text.length > max) note(notes, at, `is longer than ${max}`);
    else if (pattern !== undefined && !pattern.test(text)) note(notes, at, 'has another form');
    return text;
  };
}

function numberCheck({ fieldKind, signed }: NumberFieldType): Check {
  return (value, at, notes) => {
    if (typeof value !== 'number') note(notes, at, 'must be a number');
    else if (notes.inexact.has(at) || !isExact(value)) note(notes, at, 'has too many digits');
    else if (fieldKind === 'count' && !Number.isInteger(value))
      note(notes, at, 'must be a whole number');
    else if (fieldKind !== 'rate' && signed !== true && value < 0)
      note(notes, at, 'must not be negative');
    return value;
  };
}

/** The shortest text of the number has few enough digits, and no exponent. */
function isExact(value: number): boolean {
  const text = String(value);
  const digits = text.replace(/[-.]/g, '').replace(/^0+/, '');
  return /^-?\d+(?:\.\d+)?$/.test(text) && digits.length <= amountDigitsMax;
}

type MemberRule = { member: string; check: Check; list: boolean; needed: boolean };

function structureCheck(name: StructureName): Check {
  const row: Readonly<Record<string, string>> = structures[name];
  const rule = conditionalFieldRules[name];
  const memberRules = Object.entries(row).map(([member, written]) => memberRule(member, written));
  const memberNames = new Set(Object.keys(row));
  return (value, at, notes) => {
    if (!isObject(value)) {
      note(notes, at, 'must be an object');
      return value;
    }
    const checked: Record<string, Json> = {};
    for (const checkedMember of memberRules)
      checkMember(checkedMember, value, checked, { at, notes });
    for (const [member, other] of Object.entries(value)) {
      if (memberNames.has(member)) continue;
      checked[member] = other;
      noteUnknown(notes, memberOf(at, member));
    }
    const broken = notes.tolerant ? undefined : rule?.(checked);
    if (broken !== undefined) note(notes, at, broken);
    return checked;
  };
}

function memberRule(member: string, written: string): MemberRule {
  const [, name = '', often = ''] = /^(\w+)([?*+]?)$/.exec(written) ?? [];
  return {
    member,
    check: (value, at, notes) => checkOf(name)(value, at, notes),
    list: often === '*' || often === '+',
    needed: often === '' || often === '+',
  };
}

function checkMember(
  { member, check, list, needed }: MemberRule,
  from: JsonObject,
  into: Record<string, Json>,
  { at, notes }: { at: string; notes: CheckNotes },
): void {
  const value = from[member];
  if (value === undefined || (value === null && notes.tolerant)) {
    if (needed) note(notes, memberOf(at, member), 'is missing');
    return;
  }
  const pointer = memberOf(at, member);
  if (!list) into[member] = check(value, pointer, notes);
  else into[member] = checkList(check, value, { pointer, notes, needed });
}

function checkList(
  check: Check,
  value: Json,
  { pointer, notes, needed }: { pointer: string; notes: CheckNotes; needed: boolean },
): Json {
  if (!Array.isArray(value)) {
    if (notes.tolerant) return [check(value, pointer, notes)];
    note(notes, pointer, 'must be a list');
    return value;
  }
  if (needed && value.length === 0) note(notes, pointer, 'must not be empty');
  return value.map((item: Json, index) => check(item, memberOf(pointer, index), notes));
}

/** A rule returns the fault of a structure, or undefined. */
type Rule = (value: JsonObject) => string | undefined;

const contentOf: Readonly<Record<string, string>> = {
  MessageRef: 'PredefinedContent',
  Text: 'OutputText',
  XHTML: 'OutputXHTML',
  BarCode: 'OutputBarcode',
};

const contentRule: Rule = ({ OutputFormat, ...content }) => {
  const contentName = contentOf[String(OutputFormat)];
  return contentName === undefined || content[contentName] !== undefined
    ? undefined
    : `needs ${contentName}`;
};

const oneOf =
  (...members: readonly string[]): Rule =>
  (value) => {
    const presentMembers = members.filter((member) => value[member] !== undefined);
    return presentMembers.length === 1 ? undefined : 'must hold exactly one body';
  };

const succeeded = ({ Response }: JsonObject): boolean =>
  (Response as JsonObject | undefined)?.['Result'] !== 'Failure';

const whenSucceeded =
  (...members: readonly string[]): Rule =>
  (value) => {
    const missing = members.find((member) => value[member] === undefined);
    return missing === undefined || !succeeded(value) ? undefined : `needs ${missing}`;
  };

/**
 * The rules by structure.
 *
 * Source: nexo Sale to POI 3.0, the "Rule" column of the dictionary as public documentation of the
 * Terminal API gives it.
 */
const conditionalFieldRules: Partial<Readonly<Record<StructureName, Rule>>> = {
  Response: ({ Result, ErrorCondition }) =>
    Result === 'Success' || ErrorCondition !== undefined ? undefined : 'needs ErrorCondition',
  EventNotification: ({ EventToNotify, RejectedMessage }) =>
    (EventToNotify === 'Reject') === (RejectedMessage !== undefined)
      ? undefined
      : 'has RejectedMessage with Reject alone, and always',
  EnableServiceRequest: ({ TransactionAction, ServicesEnabled }) =>
    (TransactionAction === 'StartTransaction') === (ServicesEnabled !== undefined)
      ? undefined
      : 'has ServicesEnabled with StartTransaction alone, and always',
  OutputContent: contentRule,
  MenuEntry: contentRule,
  SoundRequest: ({ SoundAction, SoundContent }) =>
    SoundAction === 'StartSound' && SoundContent === undefined ? 'needs SoundContent' : undefined,
  PaymentResponse: whenSucceeded('SaleData', 'POIData', 'PaymentResult'),
  CardAcquisitionResponse: whenSucceeded('SaleData', 'POIData'),
  LoyaltyResponse: whenSucceeded('SaleData', 'POIData'),
  StoredValueResponse: whenSucceeded('SaleData', 'POIData'),
  TransactionStatusResponse: whenSucceeded('RepeatedMessageResponse'),
  RepeatedResponseMessageBody: oneOf(
    'PaymentResponse',
    'ReversalResponse',
    'LoyaltyResponse',
    'CardAcquisitionResponse',
    'StoredValueResponse',
    'CardReaderAPDUResponse',
    'BatchResponse',
  ),
  TransactionToPerform: oneOf('PaymentRequest', 'LoyaltyRequest', 'ReversalRequest'),
};
