/** The issuer's answer to a chip: authentication data, scripts and codes. */
import { defined } from '@switchyard/contract';
import { responseTags } from './emv-tags.ts';
import { EmvError } from './errors.ts';
import { bytesOf } from './tlv.ts';
import { findObjects, objectText, type ReaderRules, valueText } from './tlv-reader.ts';

/**
 * The issuer's answer. `emvResponse` is what a terminal hands to the chip: tags 91, 71, 72, 8A and
 * 89 and nothing else, scripts byte for byte as the issuer signed them.
 *
 * @example
 * const { emvResponse }: IssuerResponse = parseIssuerResponse(de55);
 */
export type IssuerResponse = {
  /** Canonical BER-TLV, upper-case hexadecimal; empty where the issuer sent nothing for the chip. */
  readonly emvResponse: string;
  /** Tag 91, hexadecimal. */
  readonly issuerAuthenticationData?: string;
  /** Tag 8A: two characters. */
  readonly authorizationResponseCode?: string;
  /** Tag 89: six characters. */
  readonly authorizationCode?: string;
  /** How many scripts (tags 71 and 72) there are. */
  readonly scripts: number;
};

const scriptTags: ReadonlySet<string> = new Set(['71', '72']);
const rules: ReaderRules = { opaque: scriptTags, repeatable: scriptTags };
const de55BytesMax = 999;

/**
 * Reads data element 55 of an answer.
 *
 * Source: EMV 4.4 Book 3, 10.9 and 10.10; Book 4, 12.
 *
 * @param hex - data element 55 in hexadecimal
 * @returns what goes to the chip
 * @throws EmvError with a code of `emvErrorCodes`; never with a value
 * @example
 * parseIssuerResponse('910A112233445566778830308A023030').authorizationResponseCode; // '00'
 */
export function parseIssuerResponse(hex: string): IssuerResponse {
  const bytes = bytesOf(hex);
  if (bytes.length > de55BytesMax) throw new EmvError('tlv_too_large');
  const objects = findObjects(bytes, 0, bytes.length, rules).filter(({ tag }) =>
    responseTags.has(tag),
  );
  const text = hex.toUpperCase();
  const placeOf = (tag: string) => objects.find((object) => object.tag === tag);
  const authentication = placeOf('91');
  const responseCode = placeOf('8A');
  const authorizationCode = placeOf('89');
  return {
    emvResponse: objects.map((object) => objectText(text, object)).join(''),
    scripts: objects.filter(({ tag }) => scriptTags.has(tag)).length,
    ...defined({
      issuerAuthenticationData:
        authentication === undefined ? undefined : valueText(text, authentication),
      authorizationResponseCode:
        responseCode === undefined
          ? undefined
          : bytes.toString('latin1', responseCode.start, responseCode.end),
      authorizationCode:
        authorizationCode === undefined
          ? undefined
          : bytes.toString('latin1', authorizationCode.start, authorizationCode.end),
    }),
  };
}
