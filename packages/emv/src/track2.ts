/** Track 2 of a magnetic stripe, and its equivalent in a chip (tag 57). */
import { EmvError } from './errors.ts';

/**
 * The content of track 2. `text` is the whole track in the form of data element 35: `=` as separator,
 * no sentinels, no padding. It is sensitive: never stored after the authorisation.
 *
 * @example
 * const track: Track2 = parseTrack2(';4111111111111111=30122010000000000?');
 */
export type Track2 = {
  readonly pan: string;
  /** YYMM. */
  readonly expiry: string;
  readonly serviceCode: string;
  readonly text: string;
};

const charactersMax = 37;
const format = /^(\d{12,19})[=D](\d{2}(?:0[1-9]|1[0-2]))(\d{3})(\d*)$/;

/**
 * Reads track 2 as text, with or without sentinels, with `=` or `D` as separator and with the
 * padding F of tag 57. The check digit is not looked at.
 *
 * Source: ISO/IEC 7813; EMV 4.4 Book 3, annex A (tag 57).
 *
 * @param track - the track
 * @returns its parts
 * @throws EmvError `track_invalid`
 * @example
 * parseTrack2('4111111111111111D30122010000F').expiry; // '3012'
 */
export function parseTrack2(track: string): Track2 {
  const withoutSentinels = track
    .toUpperCase()
    .replace(/^;/, '')
    .replace(/\?$/, '')
    .replace(/F$/, '');
  const match = withoutSentinels.length > charactersMax ? null : format.exec(withoutSentinels);
  const [, pan, expiry, serviceCode, discretionary = ''] = match ?? [];
  if (pan === undefined || expiry === undefined || serviceCode === undefined) {
    throw new EmvError('track_invalid');
  }
  return { pan, expiry, serviceCode, text: `${pan}=${expiry}${serviceCode}${discretionary}` };
}
