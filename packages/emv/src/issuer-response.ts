/** What an issuer answers to a chip: authentication data, scripts and codes. */
import { responseTags } from './tags.ts';
import { bytesOf, decodeTlv, tlvHex } from './tlv.ts';

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
  const objects = decodeTlv(bytesOf(hex), {
    bytesMax: de55BytesMax,
    opaque: scriptTags,
    repeatable: scriptTags,
  }).filter(({ tag }) => responseTags.has(tag));
  const bytesIn = (tag: string) => objects.find((object) => object.tag === tag)?.value;
  const authentication = bytesIn('91')?.toString('hex').toUpperCase();
  const responseCode = bytesIn('8A')?.toString('latin1');
  const authorizationCode = bytesIn('89')?.toString('latin1');
  return {
    emvResponse: tlvHex(objects),
    scripts: objects.filter(({ tag }) => scriptTags.has(tag)).length,
    ...(authentication === undefined ? {} : { issuerAuthenticationData: authentication }),
    ...(responseCode === undefined ? {} : { authorizationResponseCode: responseCode }),
    ...(authorizationCode === undefined ? {} : { authorizationCode }),
  };
}
