// Reads untrusted members of a provider's answer, and omits or rejects invalid ones.
import {
  defined,
  displayFault,
  isObject,
  isProviderId,
  type ProviderAmount,
  type ProviderFailure,
  type ProviderPayer,
  ProviderPaymentStatus,
  ProviderRefundStatus,
  QrDisplay,
} from '@switchyard/contract';
import { hideCardNumbers } from '@switchyard/emv';
import { Check } from 'typebox/schema';
import { isSecretMember, redactedPlaceholder, redactText } from '../../platform/index.ts';

export type Members = Readonly<Record<string, unknown>>;

const textMaxChars = 500;
const payerMaxChars = 64;
const unknownDepthMax = 4;
const unknownMembersMax = 20;
const pollMinMs = 500;
const pollMaxMs = 60_000;
const amountMax = 999_999_999_999;
const codePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Whether redaction leaves the text unchanged. */
const isClean = (text: string) => redactText(text) === text && hideCardNumbers(text) === text;

/**
 * Removes a redaction placeholder that the cut has split, because half of it looks like a secret.
 */
function shorten(maxChars: number, text: string): string {
  const cut = text.slice(0, maxChars).toWellFormed();
  const last = cut.lastIndexOf('[');
  const isPlaceholderCut =
    cut.length < text.length && last >= 0 && redactedPlaceholder.startsWith(cut.slice(last));
  return (isPlaceholderCut ? cut.slice(0, last) : cut).trimEnd();
}

/** One line of text that the database can store, without card data. */
export function parseTextLine(value: unknown, maxChars = textMaxChars): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value
    .slice(0, 2 * maxChars)
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: characters that a line of text cannot hold
    .replace(/[\s\u0000-\u001f\u007f]+/g, ' ')
    .trim();
  const clean = shorten(maxChars, hideCardNumbers(redactText(text)));
  return clean === '' ? undefined : clean;
}

/** A provider's identifier in the form that the server stores, compares and shows. */
export function parseIdentifier(value: unknown): string | undefined {
  return isProviderId(value) ? hideCardNumbers(value) : undefined;
}

/** A reason or type code; undefined if it is malformed or contains a card number. */
export function parseReasonCode(value: unknown): string | undefined {
  return typeof value === 'string' && codePattern.test(value) && isClean(value) ? value : undefined;
}

export function parsePaymentStatus(value: unknown): ProviderPaymentStatus | undefined {
  return Check(ProviderPaymentStatus, value) ? value : undefined;
}

export function parseRefundStatus(value: unknown): ProviderRefundStatus | undefined {
  return Check(ProviderRefundStatus, value) ? value : undefined;
}

/** An unreadable amount makes the whole answer unreadable; the server never guesses an amount. */
export function parseAmount(value: unknown): ProviderAmount | 'unreadable' | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) return 'unreadable';
  const { amount: minor, currency } = value;
  if (typeof minor !== 'number' || !Number.isInteger(minor)) return 'unreadable';
  if (minor < 1 || minor > amountMax) return 'unreadable';
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)) return 'unreadable';
  return { amount: minor, currency };
}

/** A display for the terminal; `refused` if it is present and not allowed. */
export function parseDisplay(value: unknown): QrDisplay | 'refused' | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Check(QrDisplay, value)) return 'refused';
  const { type, data } = value;
  return displayFault({ type, data }) === undefined ? { type, data } : 'refused';
}

export function parseFailure(value: unknown): ProviderFailure | undefined {
  if (!isObject(value)) return undefined;
  const text = parseTextLine(value['text']);
  return {
    code: parseReasonCode(value['code']) ?? 'provider_failure',
    ...defined({ text }),
  };
}

/**
 * The payer for a receipt. The server masks long numbers, even if the provider promised to do so.
 */
export function parsePayer(value: unknown): ProviderPayer | undefined {
  if (!isObject(value)) return undefined;
  const text = parseTextLine(value['maskedId'], payerMaxChars);
  if (text === undefined) return undefined;
  return {
    maskedId: text.replace(/\d(?=(?:[\s-]?\d){4})/g, (digit, at: number) =>
      masked(text, digit, at),
    ),
  };
}

/** Masks a digit in a run of nine or more digits; the last four stay visible. */
function masked(text: string, digit: string, at: number): string {
  const before = /(?:\d[\s-]?)*$/.exec(text.slice(0, at))?.[0] ?? '';
  const after = /^(?:[\s-]?\d)*/.exec(text.slice(at + 1))?.[0] ?? '';
  const digits = `${before}${digit}${after}`.replace(/\D/g, '').length;
  return digits >= 9 ? '*' : digit;
}

/** Limits the interval, so that the server polls neither too often nor too rarely. */
export function parsePollInterval(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Math.min(pollMaxMs, Math.max(pollMinMs, Math.round(value)));
}

export function parseTimestamp(value: unknown): Date | undefined {
  if (
    typeof value !== 'string' ||
    !/^\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+-]\d\d:\d\d)$/.test(value)
  ) {
    return undefined;
  }
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

function cleanValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return parseTextLine(value) ?? '';
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return isClean(String(value)) ? value : null;
  if (depth >= unknownDepthMax) return null;
  if (Array.isArray(value)) {
    return value.slice(0, unknownMembersMax).map((each) => cleanValue(each, depth + 1));
  }
  return isObject(value) ? cleanMembers(value, [], depth + 1) : null;
}

/** A member name can contain card data, as a value can. */
const isSafeName = (name: string) => parseReasonCode(name) !== undefined && !isSecretMember(name);

function cleanMembers(members: Members, knownNames: readonly string[], depth: number): Members {
  const rest = Object.entries(members)
    .filter(([name]) => !knownNames.includes(name) && isSafeName(name))
    .slice(0, unknownMembersMax)
    .map(([name, value]): [string, unknown] => [name, cleanValue(value, depth)]);
  return Object.fromEntries(rest);
}

const unknownMaxChars = 4096;

/** Unknown members, stored within limits and without card data, and never used. */
export function collectUnknownMembers(
  members: Members,
  knownNames: readonly string[],
): { more?: Members } {
  const more = cleanMembers(members, knownNames, 0);
  if (Object.keys(more).length === 0 || JSON.stringify(more).length > unknownMaxChars) return {};
  return { more };
}
