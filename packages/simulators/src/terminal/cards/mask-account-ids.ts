// What a till names an account by: it may be a card number, which is neither kept nor told again.
import { holdsCardNumber } from '@switchyard/emv';
import type { Structure } from '@switchyard/nexo';

type Identified = Pick<Structure<'StoredValueAccountID'>, 'IdentificationType'> & {
  readonly StoredValueID?: string;
  readonly Value?: string;
  readonly LoyaltyID?: string;
};

const shownInFront = 6;
const shownBehind = 4;
/** Of the shortest card numbers (ISO/IEC 7812-1). */
const cardDigitsMin = 12;
const names = ['StoredValueID', 'Value', 'LoyaltyID'] as const;

/** A number without its inner digits. */
export function masked(number: string): string {
  const digits = number.replace(/\D/g, '').length;
  let seen = 0;
  return number.replace(/\d/g, (digit) => {
    seen += 1;
    return seen <= shownInFront || seen > digits - shownBehind ? digit : '*';
  });
}

function isOfCard({ IdentificationType: type }: Identified, text: string): boolean {
  if (holdsCardNumber(text)) return true;
  const isSaidToBe = type === 'PAN' || type === 'ISOTrack2';
  return isSaidToBe && text.replace(/\D/g, '').length >= cardDigitsMin;
}

/** An account as an answer repeats it, which is kept: what follows the number on a track is left out. */
export function echoed<Of extends Identified>(id: Of): Of {
  const hidden = names.flatMap((name) => {
    const text = id[name]?.normalize('NFKC');
    if (text === undefined || !isOfCard(id, text)) return [];
    const number = id.IdentificationType === 'ISOTrack2' ? text.split(/[=D]/)[0] : text;
    return [[name, masked(number ?? '')] as const];
  });
  return { ...id, ...Object.fromEntries(hidden) };
}
