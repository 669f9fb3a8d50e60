/** The EMV tags that a card sale meets: names, lengths, and where each may go. */

/**
 * Where an object may go: `Acquirer` into data element 55, `PlatformOnly` nowhere (never forwarded
 * in data element 55 and never stored after the authorisation), `Response` from the issuer to the
 * chip, `Receipt` onto a receipt alone.
 *
 * @example
 * const destination: TagDestination = tagTable['9F26'].destination; // 'Acquirer'
 */
export type TagDestination = 'Acquirer' | 'PlatformOnly' | 'Response' | 'Receipt';

/**
 * The facts of a tag; lengths are of the value, in bytes.
 *
 * @example
 * const facts: TagFacts | undefined = tagFacts('9F02');
 */
export type TagFacts = {
  readonly name: string;
  readonly destination: TagDestination;
  readonly lengthMin: number;
  readonly lengthMax: number;
  /** Every chip sale carries it. */
  readonly always: boolean;
};

const row =
  (destination: TagDestination, always = false) =>
  (name: string, lengthMin: number, lengthMax = lengthMin): TagFacts => ({
    name,
    destination,
    lengthMin,
    lengthMax,
    always,
  });

const always = row('Acquirer', true);
const usual = row('Acquirer');
const platformOnly = row('PlatformOnly');
const response = row('Response');
const receipt = row('Receipt');

/**
 * The table of tags, by upper-case hexadecimal tag.
 *
 * Source: EMV 4.4 Book 3, annex A; scheme tags after the public kernel specifications.
 *
 * @example
 * tagTable['9F26']?.name; // 'Application cryptogram'
 */
export const tagTable: Readonly<Record<string, TagFacts>> = {
  '9F26': always('Application cryptogram', 8),
  '9F27': always('Cryptogram information data', 1),
  '9F10': always('Issuer application data', 1, 32),
  '9F37': always('Unpredictable number', 4),
  '9F36': always('Application transaction counter', 2),
  '95': always('Terminal verification results', 5),
  '9A': always('Transaction date', 3),
  '9C': always('Transaction type', 1),
  '9F02': always('Amount, authorised', 6),
  '5F2A': always('Transaction currency code', 2),
  '82': always('Application interchange profile', 2),
  '9F1A': always('Terminal country code', 2),
  '9F03': usual('Amount, other', 6),
  '9F33': usual('Terminal capabilities', 3),
  '9F34': usual('Cardholder verification method results', 3),
  '9F35': usual('Terminal type', 1),
  '84': usual('Dedicated file name', 5, 16),
  '5F34': usual('PAN sequence number', 1),
  '9F09': usual('Terminal application version', 2),
  '9F1E': usual('Device serial number', 8),
  '9F41': usual('Transaction sequence counter', 2, 4),
  '9F53': usual('Transaction category code', 1),
  '9F6E': usual('Form factor or third-party data', 4, 32),
  '9F7C': usual('Customer exclusive data', 1, 32),
  '9F66': usual('Terminal transaction qualifiers', 4),
  '57': platformOnly('Track 2 equivalent data', 1, 19),
  '5A': platformOnly('Primary account number', 1, 10),
  '5F24': platformOnly('Application expiration date', 3),
  '5F20': platformOnly('Cardholder name', 2, 26),
  '56': platformOnly('Track 1 data', 1, 76),
  '9F1F': platformOnly('Track 1 discretionary data', 0, 54),
  '9F20': platformOnly('Track 2 discretionary data', 0, 19),
  '9F0B': platformOnly('Cardholder name, extended', 27, 45),
  '99': platformOnly('Transaction PIN data', 1, 16),
  '91': response('Issuer authentication data', 8, 16),
  '71': response('Issuer script template 1', 0, 127),
  '72': response('Issuer script template 2', 0, 127),
  '8A': response('Authorisation response code', 2),
  '89': response('Authorisation code', 6),
  '50': receipt('Application label', 1, 16),
  '9F12': receipt('Application preferred name', 1, 16),
  '9F11': receipt('Issuer code table index', 1),
  '9F06': receipt('Application identifier of the terminal', 5, 16),
  '9B': receipt('Transaction status information', 2),
  '9F6C': receipt('Card transaction qualifiers', 2),
};

/**
 * The facts of a tag.
 *
 * @param tag - upper-case hexadecimal
 * @returns the facts, or undefined for a tag that is not in the table
 * @example
 * tagFacts('57')?.destination; // 'PlatformOnly'
 */
export function tagFacts(tag: string): TagFacts | undefined {
  return Object.hasOwn(tagTable, tag) ? tagTable[tag] : undefined;
}

const tagsTo = (destination: TagDestination): ReadonlySet<string> =>
  new Set(Object.keys(tagTable).filter((tag) => tagTable[tag]?.destination === destination));

/**
 * The tags that may go into data element 55; other tags are left out.
 *
 * @example
 * de55Tags.has('9F26'); // true
 */
export const de55Tags: ReadonlySet<string> = tagsTo('Acquirer');

/**
 * The tags that are never forwarded in data element 55, never stored after the authorisation, and
 * never written to a log.
 *
 * @example
 * platformOnlyTags.has('57'); // true
 */
export const platformOnlyTags: ReadonlySet<string> = tagsTo('PlatformOnly');

/**
 * The tags of an issuer's answer that are handed on to the terminal.
 *
 * @example
 * responseTags.has('91'); // true
 */
export const responseTags: ReadonlySet<string> = tagsTo('Response');

/**
 * The tags that every chip sale carries to the acquirer.
 *
 * @example
 * const missing = alwaysTags.filter((tag) => !present.has(tag));
 */
export const alwaysTags: readonly string[] = Object.keys(tagTable).filter(
  (tag) => tagTable[tag]?.always === true,
);
