// Track 2: the results of the parser are compared with a parser that reads letter by letter.
import { EmvError, parseTrack2, type Track2 } from '@switchyard/emv';
import { type FuzzTarget, isParserError, MisreadError, mutateInput } from './fuzz-target.ts';
import { randomForInput, type SeededRandom } from './seeded-input.ts';

const soundTracks = 96;
const charactersMax = 37;

const digits = (chance: SeededRandom, length: number): string =>
  Array.from({ length }, () => String(chance.below(10))).join('');

function trackOf(chance: SeededRandom): Buffer {
  const month = String(1 + chance.below(12)).padStart(2, '0');
  const separator = chance.pick(['=', 'D', 'd']);
  const body = `${digits(chance, 12 + chance.below(8))}${separator}${digits(chance, 2)}${month}`;
  const rest = digits(chance, 3 + chance.below(12));
  return Buffer.from(`${chance.pick(['', ';'])}${body}${rest}${chance.pick(['', '?', 'F', 'f'])}`);
}

const sound = Array.from({ length: soundTracks }, (_, index) =>
  trackOf(randomForInput(soundTracks, index)),
);

const isDigit = (letter: string | undefined) =>
  letter !== undefined && letter >= '0' && letter <= '9';

/** ISO/IEC 7813 without an expression that could be too clever. */
function readSlowly(text: string): Track2 | undefined {
  let letters = [...text.toUpperCase()];
  if (letters[0] === ';') letters = letters.slice(1);
  if (letters.at(-1) === '?') letters = letters.slice(0, -1);
  if (letters.at(-1) === 'F') letters = letters.slice(0, -1);
  if (letters.length > charactersMax) return undefined;
  const separatorIndex = letters.findIndex((letter) => !isDigit(letter));
  if (
    separatorIndex < 12 ||
    separatorIndex > 19 ||
    !['=', 'D'].includes(letters[separatorIndex] ?? '')
  )
    return undefined;
  const rest = letters.slice(separatorIndex + 1);
  if (rest.length < 7 || !rest.every(isDigit)) return undefined;
  const month = Number(rest.slice(2, 4).join(''));
  if (month < 1 || month > 12) return undefined;
  const pan = letters.slice(0, separatorIndex).join('');
  return {
    pan,
    expiry: rest.slice(0, 4).join(''),
    serviceCode: rest.slice(4, 7).join(''),
    text: `${pan}=${rest.join('')}`,
  };
}

function read(text: string): Track2 | undefined {
  try {
    return parseTrack2(text);
  } catch (error) {
    if (isParserError(error, EmvError)) return undefined;
    throw error;
  }
}

export const trackDataTargets: readonly FuzzTarget[] = [
  {
    name: 'track 2',
    makeInput: (chance) => mutateInput(sound, chance),
    readInput(input) {
      const text = input.toString('latin1');
      const track = read(text);
      const slowly = readSlowly(text);
      const same =
        track?.pan === slowly?.pan &&
        track?.expiry === slowly?.expiry &&
        track?.serviceCode === slowly?.serviceCode &&
        track?.text === slowly?.text;
      if (!same) throw new MisreadError('a track that reads otherwise letter by letter');
      return track !== undefined;
    },
  },
];
