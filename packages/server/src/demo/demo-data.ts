// Contains the demo data with fixed identifiers, so that a second start finds the first data.

import { providerEventStatuses } from '@switchyard/contract';
import { portalCallbackPath } from '../identity/index.ts';
import { posClientId } from '../provisioning/index.ts';

export const demoUserDomainId = 'demo';

/** Has the form of UUID version 7, and is easy to see in a log. */
const demoId = (number: number) => `01990000-0000-7000-8000-${String(number).padStart(12, '0')}`;

export const organizationId = demoId(1);

/** An organisation, and the user domain of its users and applications. */
export type DemoUserDomain = { readonly organizationId: string; readonly userDomainId: string };

export const acquirerUserDomain: DemoUserDomain = {
  organizationId,
  userDomainId: demoUserDomainId,
};

/** A service provider with its own organisation, which users of the acquirer cannot see. */
export const demoServiceProvider = {
  organizationId: demoId(70),
  userDomainId: 'lumen',
  name: 'Lumen Pay',
} as const;
export const acquirerLinkId = demoId(2);

/** The reference provider serves it; the service gets its address when the provider listens. */
export const demoQrService = {
  serviceId: demoId(51),
  name: 'QR',
  description: 'Payments by QR code, shown by the device or by the consumer.',
  domain: 'QR payments',
  methods: ['consumerscan', 'merchantscan'],
  paymentTypes: ['demopay'],
  events: Object.keys(providerEventStatuses),
} as const;

/** The services that every device of the demo can use, with their package and subscription. */
export const demoServices = [
  {
    serviceId: demoId(50),
    name: 'Cloud Connector',
    description: 'A connection between a point of sale and a device through the cloud.',
    domain: 'Retail API',
  },
  demoQrService,
] as const;
export const demoPackageId = demoId(52);
export const demoSubscriptionId = demoId(53);

/** The card parameters of terminals: a separate service in a separate package. */
export const terminalParameterService = {
  serviceId: demoId(54),
  packageId: demoId(55),
  subscriptionId: demoId(56),
  name: 'EMV terminal parameters',
  description:
    'EMV applications, limits and CA public keys for terminals. Contains the test keys of the card schemes.',
} as const;

const loyaltySchema = {
  type: 'object',
  properties: {
    pointsPerUnit: {
      type: 'integer',
      title: 'Points for each whole unit of money',
      minimum: 0,
      maximum: 100,
    },
    receiptLine: {
      type: 'string',
      title: 'Line on the receipt',
      maxLength: 40,
    },
  },
  additionalProperties: false,
} as const;

/**
 * The services of the provider: one in use, one without a subscription, and one draft that only the
 * provider sees.
 */
export const providerServices = {
  pay: {
    serviceId: demoId(71),
    packageId: demoId(74),
    subscriptionId: demoId(75),
    name: 'Lumen QR',
    description: 'Payments from the wallet of Lumen, by a code that the consumer scans or shows.',
    domain: 'QR payments',
    methods: ['consumerscan', 'merchantscan'],
    paymentTypes: ['lumenpay'],
    events: Object.keys(providerEventStatuses),
  },
  points: {
    serviceId: demoId(72),
    name: 'Lumen Points',
    description: 'Customers collect points with a purchase, and pay with them at a later purchase.',
    domain: 'Loyalty',
    activationParameters: {
      type: 'object',
      properties: {
        programme: {
          type: 'string',
          title: 'Name of the programme',
          minLength: 1,
          maxLength: 40,
          examples: ['Morning coffee'],
        },
        apiKey: {
          type: 'string',
          title: 'Key of your account with Lumen',
          description: 'The platform encrypts the key, sends it to Lumen, and never displays it.',
          minLength: 8,
          maxLength: 64,
          writeOnly: true,
        },
      },
      required: ['programme'],
      additionalProperties: false,
    },
    parameterSchema: loyaltySchema,
    defaults: { pointsPerUnit: 1, receiptLine: 'Thank you for your loyalty' },
  },
  later: {
    serviceId: demoId(73),
    name: 'Lumen Later',
    description: 'Payment in three instalments. This service is a draft.',
    domain: 'Instalments',
  },
} as const;

export type DemoDevice = {
  readonly logicalDeviceId: string;
  readonly physicalDeviceId: string;
  readonly name: string;
  readonly make: string;
  readonly model: string;
  readonly family: 'axium' | 'tetra';
  readonly serialNumber: string;
};

export type DemoStore = {
  readonly storeId: string;
  readonly name: string;
  readonly address: { line1: string; city: string; postalCode: string };
  readonly devices: readonly DemoDevice[];
};

export type DemoMerchant = {
  readonly merchantId: string;
  readonly contractId: string;
  readonly name: string;
  readonly country: string;
  readonly mcc: string;
  readonly timeZone: string;
  readonly address: { line1: string; city: string; postalCode: string };
  /** The number of the merchant at the acquirer. */
  readonly acquirerMerchantId: string;
  readonly terminalIdRange: { from: string; to: string };
  readonly stores: readonly DemoStore[];
};

const axium = { make: 'AXIUM', model: 'DX8000', family: 'axium' } as const;
const tetra = { make: 'TETRA', model: 'LANE3000', family: 'tetra' } as const;

const cafe: DemoMerchant = {
  merchantId: demoId(10),
  contractId: demoId(11),
  name: 'Café Lumière',
  country: 'FR',
  mcc: '5814',
  timeZone: 'Europe/Paris',
  address: { line1: '12 quai de Valmy', city: 'Paris', postalCode: '75010' },
  acquirerMerchantId: '900000000000010',
  terminalIdRange: { from: 'LUMI0001', to: 'LUMI9999' },
  stores: [
    {
      storeId: demoId(20),
      name: 'Saint-Martin',
      address: { line1: '12 quai de Valmy', city: 'Paris', postalCode: '75010' },
      devices: [
        {
          logicalDeviceId: demoId(30),
          physicalDeviceId: demoId(40),
          name: 'Counter',
          ...axium,
          serialNumber: '10000001',
        },
      ],
    },
    {
      storeId: demoId(21),
      name: 'Gare de Lyon',
      address: { line1: '20 boulevard Diderot', city: 'Paris', postalCode: '75012' },
      devices: [
        {
          logicalDeviceId: demoId(31),
          physicalDeviceId: demoId(41),
          name: 'Kiosk',
          ...tetra,
          serialNumber: '20000001',
        },
      ],
    },
  ],
};

const outfitter: DemoMerchant = {
  merchantId: demoId(12),
  contractId: demoId(13),
  name: 'Harbour & Pine',
  country: 'NL',
  mcc: '5655',
  timeZone: 'Europe/Amsterdam',
  address: { line1: 'Herengracht 210', city: 'Amsterdam', postalCode: '1016 BS' },
  acquirerMerchantId: '900000000000012',
  terminalIdRange: { from: 'PINE0001', to: 'PINE9999' },
  stores: [
    {
      storeId: demoId(22),
      name: 'Herengracht',
      address: { line1: 'Herengracht 210', city: 'Amsterdam', postalCode: '1016 BS' },
      devices: [
        {
          logicalDeviceId: demoId(32),
          physicalDeviceId: demoId(42),
          name: 'Till 1',
          ...axium,
          serialNumber: '10000002',
        },
      ],
    },
    {
      storeId: demoId(23),
      name: 'Utrecht Centraal',
      address: { line1: 'Stationshal 9', city: 'Utrecht', postalCode: '3511 CE' },
      devices: [
        {
          logicalDeviceId: demoId(33),
          physicalDeviceId: demoId(43),
          name: 'Till 1',
          ...tetra,
          serialNumber: '20000002',
        },
      ],
    },
  ],
};

export const demoMerchants: readonly [DemoMerchant, DemoMerchant] = [cafe, outfitter];

/** The first store of the first merchant, where the till of the demo is. */
const tillStore = { storeId: demoId(20), storeName: 'Saint-Martin' };
const pointOfSaleId = demoId(60);

export type DemoApplication = {
  /** The name of the application in demo.json. */
  readonly key:
    | 'operator'
    | 'acquirer'
    | 'merchant'
    | 'otherMerchant'
    | 'merchantDeveloper'
    | 'pos'
    | 'cloud'
    | 'device'
    | 'web'
    | 'provider';
  readonly clientId: string;
  readonly name: string;
  /** Provisioning creates the application for this point of sale. */
  readonly pointOfSaleId?: string;
  /** Omitted if the application does nothing by itself. */
  readonly role?: string;
  /** The default is client credentials. */
  readonly securityFlow?: 'AuthorizationCode' | 'Password';
  /** A public client (RFC 6749) has no secret. */
  readonly isPublic?: true;
  /** The path of the redirect URI at the address of the platform. */
  readonly redirectPath?: string;
  readonly type?: 'CloudApiApplication';
  /** The merchant of the application; without it the application acts for the organisation. */
  readonly merchantId?: string;
  readonly storeId?: string;
  /** The text of the printed table. */
  readonly description: string;
  /** The default is the acquirer. */
  readonly userDomain?: DemoUserDomain;
};

/** The server of the provider that is a separate organisation. */
export const serviceProviderApplication: DemoApplication = {
  key: 'provider',
  clientId: 'lumen-server',
  name: 'Server of Lumen Pay',
  role: 'ServiceProvider',
  description: 'the provider',
  userDomain: demoServiceProvider,
};

/** The application of the reference provider. */
export const qrProviderApplication: DemoApplication = {
  key: 'provider',
  clientId: 'demo-provider',
  name: 'Reference provider',
  role: 'ServiceProvider',
  description: 'a provider',
};

export const demoApplications: readonly DemoApplication[] = [
  {
    key: 'operator',
    clientId: 'demo-operator',
    name: 'Platform operator',
    role: 'PlatformOperator',
    description: 'the platform',
  },
  {
    key: 'acquirer',
    clientId: 'demo-acquirer',
    name: 'Acquirer back office',
    role: 'AcquirerAdministrator',
    description: 'the acquirer',
  },
  {
    key: 'merchant',
    clientId: 'demo-merchant',
    name: 'Café Lumière payments',
    role: 'Merchant',
    merchantId: cafe.merchantId,
    description: cafe.name,
  },
  {
    key: 'otherMerchant',
    clientId: 'demo-other-merchant',
    name: 'Harbour & Pine payments',
    role: 'Merchant',
    merchantId: outfitter.merchantId,
    description: outfitter.name,
  },
  {
    key: 'merchantDeveloper',
    clientId: 'demo-merchant-developer',
    name: 'Café Lumière developer',
    role: 'MerchantDeveloper',
    merchantId: cafe.merchantId,
    description: cafe.name,
  },
  {
    key: 'pos',
    clientId: posClientId(pointOfSaleId),
    pointOfSaleId,
    name: 'Till at Saint-Martin',
    merchantId: cafe.merchantId,
    storeId: tillStore.storeId,
    description: tillStore.storeName,
  },
  {
    key: 'cloud',
    clientId: 'demo-cloud',
    name: 'Cloud API application',
    role: 'PointOfSaleTerminal',
    type: 'CloudApiApplication',
    description: 'the acquirer',
  },
  {
    key: 'device',
    clientId: 'demo-device',
    name: 'Device application',
    securityFlow: 'Password',
    isPublic: true,
    description: 'users of devices',
  },
  {
    key: 'web',
    clientId: 'demo-web',
    name: 'Portal',
    securityFlow: 'AuthorizationCode',
    redirectPath: portalCallbackPath,
    description: 'users of the portal',
  },
  qrProviderApplication,
];
