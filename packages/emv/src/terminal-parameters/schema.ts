/** The JSON Schema of EMV terminal parameters, in the part of the language that services may use. */

type Part = Readonly<Record<string, unknown>>;
type Level = 'Organization' | 'Merchant' | 'Store' | 'LogicalDevice';

/** The levels below may not set it. */
const upTo = (level: Level) => ({ 'x-lowest-level': level });

const text = (pattern: string, maxLength: number, title: string, description: string): Part => ({
  type: 'string',
  title,
  description,
  pattern,
  maxLength,
});

/** A tag of a fixed length in bytes. */
const hex = (bytes: number, title: string, description: string): Part =>
  text(`^[0-9A-F]{${bytes * 2}}$`, bytes * 2, title, description);

const amountMaximum = 999_999_999_999;
const amount = (title: string, description: string): Part => ({
  type: 'integer',
  title,
  description: `${description} In minor units of the currency.`,
  minimum: 0,
  maximum: amountMaximum,
});

const percent = (title: string, description: string): Part => ({
  type: 'integer',
  title,
  description,
  minimum: 0,
  maximum: 99,
});

const flag = (title: string, description: string): Part => ({
  type: 'boolean',
  title,
  description,
});

const object = (title: string, properties: Part, required: readonly string[] = []): Part => ({
  type: 'object',
  title,
  properties,
  required,
  additionalProperties: false,
});

const list = (title: string, description: string, items: Part, maxItems: number): Part => ({
  type: 'array',
  title,
  description,
  items,
  maxItems,
});

const map = (
  { title, description, names }: { title: string; description: string; names: Part },
  additionalProperties: Part,
  maxProperties: number,
): Part => ({
  type: 'object',
  title,
  description,
  propertyNames: names,
  additionalProperties,
  maxProperties,
});

const aid = text(
  '^[0-9A-F]{10,32}$',
  32,
  'AID',
  'Application identifier (9F06): 5 to 16 bytes in hexadecimal, capital letters.',
);

/**
 * Ways of verifying the cardholder, as terminal parameters name them.
 *
 * @example
 * cvmMethods.includes('OnlinePin'); // true
 */
export const cvmMethods = [
  'OfflinePlaintextPin',
  'OnlinePin',
  'Signature',
  'OfflineEncipheredPin',
  'NoCvm',
] as const;

const terminal = object(
  'Terminal',
  {
    countryCode: text('^[0-9]{3}$', 3, 'Country', 'Tag 9F1A: ISO 3166-1 numeric.'),
    terminalType: text('^[0-9]{2}$', 2, 'Terminal type', 'Tag 9F35, as 22 for attended.'),
    terminalCapabilities: hex(3, 'Terminal capabilities', 'Tag 9F33.'),
    additionalTerminalCapabilities: hex(5, 'Additional terminal capabilities', 'Tag 9F40.'),
    merchantCategoryCode: text(
      '^[0-9]{4}$',
      4,
      'Merchant category code',
      'Tag 9F15. Left out, devices get the category of the merchant.',
    ),
    isFallbackAllowed: flag(
      'Fallback allowed',
      'Whether a card whose chip cannot be read may be swiped.',
    ),
  },
  [
    'countryCode',
    'terminalType',
    'terminalCapabilities',
    'additionalTerminalCapabilities',
    'isFallbackAllowed',
  ],
);

const contact = object(
  'Contact interface',
  {
    isEnabled: flag('Enabled', 'Whether the application is taken by contact.'),
    floorLimitMinor: amount('Floor limit', 'Tag 9F1B: from here on transactions go online.'),
    randomSelectionThresholdMinor: amount(
      'Threshold of random selection',
      'Below it the target percentage counts, from it on up to the floor limit a rising one.',
    ),
    randomSelectionTargetPercent: percent(
      'Target percentage',
      'How many transactions below the threshold go online by chance.',
    ),
    randomSelectionMaximumTargetPercent: percent(
      'Maximum target percentage',
      'How many go online by chance just below the floor limit.',
    ),
  },
  ['isEnabled', 'floorLimitMinor'],
);

const contactless = object(
  'Contactless interface',
  {
    isEnabled: flag('Enabled', 'Whether the application is taken without contact.'),
    kernel: {
      type: 'integer',
      title: 'Kernel',
      minimum: 2,
      maximum: 8,
      description: 'The number of the EMV Contactless Book C whose kernel runs it.',
    },
    floorLimitMinor: amount('Contactless floor limit', 'From here on transactions go online.'),
    transactionLimitMinor: amount(
      'Contactless limit',
      'From this amount on the terminal uses the contact chip.',
    ),
    transactionLimitOnDeviceMinor: amount(
      'Contactless limit with verification on the device',
      'The same where the phone or watch has verified its holder.',
    ),
    cvmRequiredLimitMinor: amount(
      'Limit without verification',
      'From here on the cardholder is verified.',
    ),
    terminalTransactionQualifiers: hex(4, 'TTQ', 'Tag 9F66, where the kernel uses it.'),
  },
  ['isEnabled', 'kernel', 'floorLimitMinor', 'transactionLimitMinor', 'cvmRequiredLimitMinor'],
);

const actionCode = (action: string, tag: string) => ({
  ...hex(5, `TAC ${action}`, `Terminal action code, ${action} (${tag}): bits of the TVR.`),
  ...upTo('Organization'),
});

const application = object(
  'Application',
  {
    scheme: { ...text('^[A-Za-z]{2,20}$', 20, 'Scheme', 'Its name.'), ...upTo('Organization') },
    label: text('^[A-Za-z0-9 .-]{1,16}$', 16, 'Label', 'Shown where the cardholder chooses.'),
    isEnabled: flag('Enabled', 'Whether cards with this application are taken.'),
    priority: {
      type: 'integer',
      title: 'Priority',
      minimum: 1,
      maximum: 100,
      description: 'The lowest comes first where a card has several and none of its own order.',
    },
    matching: {
      type: 'string',
      title: 'Matching',
      enum: ['Exact', 'Partial'],
      description: 'Whether longer AIDs that begin with this one are the same application.',
    },
    versionNumbers: list(
      'Application version numbers',
      'Tag 9F09: the versions that the terminal knows, newest first.',
      hex(2, 'Version', 'Two bytes.'),
      8,
    ),
    tacDenial: actionCode('denial', 'decline offline'),
    tacOnline: actionCode('online', 'go online'),
    tacDefault: actionCode('default', 'decline where online is out of reach'),
    defaultDdol: text('^[0-9A-F]{2,128}$', 128, 'Default DDOL', 'For cards without tag 9F49.'),
    defaultTdol: text('^[0-9A-F]{2,128}$', 128, 'Default TDOL', 'For cards without tag 97.'),
    cvmMethods: {
      ...list(
        'Cardholder verification',
        'The methods that this application may use, of those that the terminal is capable of.',
        { type: 'string', enum: cvmMethods },
        cvmMethods.length,
      ),
      minItems: 1,
      uniqueItems: true,
    },
    contact,
    contactless,
  },
  [
    'scheme',
    'label',
    'isEnabled',
    'priority',
    'matching',
    'versionNumbers',
    'tacDenial',
    'tacOnline',
    'tacDefault',
    'cvmMethods',
  ],
);

const caKey = object(
  'CA public key',
  {
    scheme: text('^[A-Za-z]{2,20}$', 20, 'Scheme', 'Whose key it is.'),
    set: text('^[A-Za-z0-9 .,/-]{1,64}$', 64, 'Set', 'The published set that it comes from.'),
    isEnabled: flag('Enabled', 'A key that was withdrawn is switched off.'),
    keyLengthBits: {
      type: 'integer',
      title: 'Key length',
      minimum: 512,
      maximum: 1984,
      multipleOf: 8,
      description: 'In bits.',
    },
    modulus: text('^[0-9A-F]{128,496}$', 496, 'Modulus', 'In hexadecimal, capital letters.'),
    exponent: { type: 'string', title: 'Exponent', enum: ['03', '010001'] },
    expiresOn: {
      type: 'string',
      title: 'Expiry',
      format: 'date',
      maxLength: 10,
      description: 'The last day on which it is used.',
    },
    sha1: hex(
      20,
      'Check sum',
      'SHA-1 over RID, index, modulus and exponent (EMV Book 2), as the scheme publishes it.',
    ),
  },
  ['scheme', 'isEnabled', 'keyLengthBits', 'modulus', 'exponent', 'expiresOn', 'sha1'],
);

const bin = (which: string) =>
  text('^[0-9]{6,8}$', 8, `${which} BIN`, 'Six to eight first digits of the card number.');

const coBrandRule = object(
  'Rule of co-badged cards',
  {
    name: text('^[A-Za-z0-9 .,/+-]{1,64}$', 64, 'Name', 'Which cards these are.'),
    binFrom: bin('First'),
    binTo: bin('Last'),
    applications: {
      ...list('Order', 'The AIDs that the merchant prefers, first first.', aid, 8),
      minItems: 1,
      uniqueItems: true,
    },
    isCardholderChoice: flag(
      'Choice of the cardholder',
      'Whether the cardholder may take another one (EU 2015/751, article 8, 6: in the EEA always).',
    ),
  },
  ['name', 'binFrom', 'binTo', 'applications', 'isCardholderChoice'],
);

/**
 * The schema of the configuration; further rules are {@link terminalParameterFaults}.
 *
 * @example
 * const declaration = { name: 'EMV', domain: 'emvTerminalParameters', parameterSchema: terminalParameterSchema };
 */
export const terminalParameterSchema: Part = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...object(
    'EMV terminal parameters',
    {
      currency: {
        ...text('^[A-Z]{3}$', 3, 'Currency', 'ISO 4217; all amounts are in its minor unit.'),
        ...upTo('Store'),
      },
      terminal,
      applications: map(
        {
          title: 'Applications',
          description: 'By AID (9F06).',
          names: aid,
        },
        application,
        60,
      ),
      caKeys: {
        ...map(
          {
            title: 'CA public keys',
            description: 'By RID and index, joined by a hyphen.',
            names: text('^[0-9A-F]{10}-[0-9A-F]{2}$', 13, 'RID-index', 'As A000000003-92.'),
          },
          caKey,
          80,
        ),
        ...upTo('Organization'),
      },
      coBrandRules: {
        ...list(
          'Co-badged cards',
          'For cards with a national and an international scheme: which application comes first.',
          coBrandRule,
          50,
        ),
        ...upTo('Merchant'),
      },
    },
    ['currency', 'terminal', 'applications'],
  ),
};
