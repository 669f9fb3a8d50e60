// Records the card data that the tests of this process sent, for the leak scan.

import { appendFileSync } from 'node:fs';
import { passesLuhn } from '@switchyard/contract';
import { parseChipData, parseTrack2 } from '@switchyard/emv';

/** The kind of each value; a value is recorded once. */
const recorded = new Map<string, string>();
const recordedMax = 20_000;

/** The file in which the run collects the values, to scan after all processes have ended. */
const file = process.env['TEST_SECRETS_FILE'];

function record(name: string, value: string): void {
  if (recorded.has(value) || recorded.size >= recordedMax) return;
  recorded.set(value, name);
  if (file !== undefined) appendFileSync(file, `${name}\t${value}\n`);
}

const isPan = (text: unknown): text is string =>
  typeof text === 'string' && /^\d{13,19}$/.test(text) && passesLuhn(text);

function recordTrack(text: string): void {
  try {
    const { pan, text: track } = parseTrack2(text);
    if (!isPan(pan)) return;
    record('card number of a track', pan);
    record('track 2', track);
    record('track 2', track.replace('=', 'D'));
  } catch {
    // The server refused invalid track data, which contains no card number.
  }
}

function recordChip(hex: string): void {
  try {
    const { pan, track2 } = parseChipData(hex);
    if (isPan(pan)) record('card number of a chip', pan);
    if (track2 !== undefined) recordTrack(track2);
  } catch {
    // The server refused chip data that cannot be parsed.
  }
}

type SentBody = {
  readonly pinblock?: unknown;
  readonly instrument?: {
    readonly card?: { readonly number?: unknown };
    readonly track2?: unknown;
    readonly emvData?: unknown;
  };
};

/** @param body a request as it is sent */
export function recordSentCardData(body: unknown): void {
  if (typeof body !== 'object' || body === null || !('instrument' in body)) return;
  const { instrument, pinblock } = body as SentBody;
  if (isPan(instrument?.card?.number)) record('card number', instrument.card.number);
  if (typeof instrument?.track2 === 'string') recordTrack(instrument.track2);
  if (typeof instrument?.emvData === 'string') recordChip(instrument.emvData);
  if (typeof pinblock === 'string' && /^[0-9A-F]{16,32}$/i.test(pinblock))
    record('PIN block', pinblock);
}

/** The name and value of all recorded card data. */
export const recordedCardData = (): readonly (readonly [name: string, value: string])[] =>
  [...recorded].map(([value, name]) => [name, value] as const);
