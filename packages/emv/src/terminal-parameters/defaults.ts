/** EMV terminal parameters to begin with: the applications of the schemes, without any CA key. */
import { defined } from '@switchyard/contract';
import { testCaKeys } from './test-ca-keys.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * The domain that a service of terminal parameters is declared with.
 *
 * @example
 * const declaration = { name: 'EMV terminal parameters', domain: terminalParameterDomain };
 */
export const terminalParameterDomain = 'emvTerminalParameters';

const everyMethod = ['OnlinePin', 'OfflineEncipheredPin', 'OfflinePlaintextPin', 'Signature'];

/** Unpredictable number; the default of the schemes where a card has no own list. */
const dataObjects = { defaultDdol: '9F3704', defaultTdol: '9F02065F2A029A039C0195059F3704' };

const contact = {
  isEnabled: true,
  floorLimitMinor: 0,
  randomSelectionThresholdMinor: 0,
  randomSelectionTargetPercent: 0,
  randomSelectionMaximumTargetPercent: 0,
};

const contactless = (kernel: number, more: Values = {}) => ({
  isEnabled: true,
  kernel,
  floorLimitMinor: 0,
  transactionLimitMinor: 500_000,
  transactionLimitOnDeviceMinor: 1_000_000,
  cvmRequiredLimitMinor: 5_000,
  ...more,
});

/** Contact chip and online PIN supported, verification on the device, updates by the issuer. */
const qualifiers = { terminalTransactionQualifiers: '3600C000' };

type Row = readonly [
  aid: string,
  scheme: string,
  label: string,
  versions: string,
  tacs: string,
  contactless?: Values,
];

const visaCodes = '0010000000 DC4004F800 DC4000A800';
const mastercardCodes = '0000000000 FC50BCF800 FC50BCA000';
const unionPayCodes = '0010000000 D84004F800 D84000A800';

/** In the order of their priority; action codes as denial, online, default. */
const rows: readonly Row[] = [
  ['A0000000421010', 'CartesBancaires', 'CB', '0002', '0010000000 FC78FCF8F0 FC78FCF8F0'],
  ['A0000000031010', 'Visa', 'Visa', '0096 008C', visaCodes, contactless(3, qualifiers)],
  ['A0000000032010', 'Visa', 'Visa Electron', '0096 008C', visaCodes, contactless(3, qualifiers)],
  ['A0000000032020', 'Visa', 'V PAY', '0096 008C', visaCodes, contactless(3, qualifiers)],
  ['A0000000041010', 'Mastercard', 'Mastercard', '0002', mastercardCodes, contactless(2)],
  [
    'A0000000043060',
    'Mastercard',
    'Maestro',
    '0002',
    '0000800000 FC50BCF800 FC50BCA000',
    contactless(2),
  ],
  [
    'A00000002501',
    'Amex',
    'American Express',
    '0001',
    '0010000000 DE00FC9800 DC50FC9800',
    contactless(4),
  ],
  [
    'A0000001523010',
    'Discover',
    'Discover',
    '0001',
    '0010000000 FCE09CF800 DC00002000',
    contactless(6, qualifiers),
  ],
  ['A0000000651010', 'Jcb', 'JCB', '0200', '0010000000 FC60ACF800 FC6024A800', contactless(5)],
  [
    'A000000333010101',
    'UnionPay',
    'UnionPay debit',
    '0030 0020',
    unionPayCodes,
    contactless(7, qualifiers),
  ],
  [
    'A000000333010102',
    'UnionPay',
    'UnionPay credit',
    '0030 0020',
    unionPayCodes,
    contactless(7, qualifiers),
  ],
];

function applicationOf([, scheme, label, versions, tacs, airborne]: Row, at: number): Values {
  const [tacDenial, tacOnline, tacDefault] = tacs.split(' ');
  return {
    scheme,
    label,
    isEnabled: true,
    priority: at + 1,
    matching: 'Partial',
    versionNumbers: versions.split(' '),
    tacDenial,
    tacOnline,
    tacDefault,
    ...dataObjects,
    cvmMethods: [...everyMethod, 'NoCvm'],
    contact,
    ...defined({ contactless: airborne }),
  };
}

/**
 * Where an estate begins. The country is left out: each acquirer sets it. The codes and limits are
 * of the kind that acquirers hand out for tests; those of production are the acquirer's to give.
 *
 * @example
 * Object.keys(terminalParameterDefaults.applications).includes('A0000000031010'); // true
 */
export const terminalParameterDefaults = {
  currency: 'EUR',
  terminal: {
    terminalType: '22',
    terminalCapabilities: 'E0F8C8',
    additionalTerminalCapabilities: 'FF80F0A001',
    isFallbackAllowed: true,
  },
  applications: Object.fromEntries(rows.map((row, at) => [row[0], applicationOf(row, at)])),
  coBrandRules: [] as readonly Values[],
};

/** The sets name no day on which all of them end: it is one of the demo. */
const testExpiry = '2035-12-31';
const bitsOfDigit = 4;

/**
 * The keys of the test sets as values of terminal parameters, by RID and index.
 *
 * @example
 * const values = { caKeys: testCaKeyValues() };
 */
export function testCaKeyValues(): Readonly<Record<string, Values>> {
  return Object.fromEntries(
    testCaKeys.map(({ rid, index, modulus, ...key }) => [
      `${rid}-${index}`,
      {
        ...key,
        isEnabled: true,
        keyLengthBits: modulus.length * bitsOfDigit,
        modulus,
        expiresOn: testExpiry,
      },
    ]),
  );
}
