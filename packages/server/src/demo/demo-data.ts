// Gives the demo estate its types. Its identifiers are fixed, so that a second start finds the first data.

import { providerEventStatuses } from '@switchyard/contract';
import estate from './demo-estate.json' with { type: 'json' };

export const {
  organizationId,
  acquirerLinkId,
  userDomainId: demoUserDomainId,
  packageId: demoPackageId,
  subscriptionId: demoSubscriptionId,
} = estate;

/** An organisation, and the user domain of its users and applications. */
export type DemoUserDomain = { readonly organizationId: string; readonly userDomainId: string };

export const acquirerUserDomain: DemoUserDomain = {
  organizationId,
  userDomainId: demoUserDomainId,
};

/** A service provider with its own organisation, which users of the acquirer cannot see. */
export const demoServiceProvider = estate.serviceProvider.userDomain;

const events = Object.keys(providerEventStatuses);

const { paymentType, ...qrService } = estate.services.qr;

/** The reference provider serves it; the service gets its address when the provider listens. */
export const demoQrService = { ...qrService, paymentTypes: [paymentType] as const, events };

/** The services that every device of the demo can use. */
export const demoServices = [estate.services.connector, demoQrService] as const;

/** The card parameters of terminals: a separate service in a separate package. */
export const terminalParameterService = estate.services.terminalParameters;

const { pay, points, later } = estate.serviceProvider.services;
const { paymentType: payPaymentType, ...payService } = pay;

/**
 * The services of the provider: one in use, one without a subscription, and one draft that only the
 * provider sees.
 */
export const providerServices = {
  pay: { ...payService, paymentTypes: [payPaymentType] as const, events },
  points,
  later,
};

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
  /** By how many percent of the authorised amount captures can exceed it. */
  readonly overCapturePercent: number;
  readonly terminalIdRange: { from: string; to: string };
  readonly stores: readonly DemoStore[];
};

/** The schema of the file, which a test checks, demands two. */
export const demoMerchants = estate.merchants as DemoMerchant[] as [DemoMerchant, DemoMerchant];

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
export const serviceProviderApplication = {
  ...estate.serviceProvider.application,
  userDomain: demoServiceProvider,
} as DemoApplication;

/** The application of the reference provider. */
export const qrProviderApplication = estate.qrProviderApplication as DemoApplication;

export const demoApplications: readonly DemoApplication[] = [
  ...(estate.applications as DemoApplication[]),
  qrProviderApplication,
];
