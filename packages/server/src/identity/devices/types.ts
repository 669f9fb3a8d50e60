// The nouns of device security, and what it asks of provisioning.
import type { ClaimMethod, DeviceCertificateRevocation } from '@switchyard/contract';

export type RevocationReason = NonNullable<DeviceCertificateRevocation['reason']>;

/** An organisation, or one merchant of it: what a caller may see and change. */
export type DeviceScope = { readonly organizationId: string; readonly merchantId?: string };

/** The terminal itself, in a place or in stock. */
export type Terminal = {
  readonly physicalDeviceId: string;
  readonly serialNumber: string;
  /** `{MAKE_MODEL}-{serial}`. */
  readonly tsn: string;
  /** Missing while the terminal has no place. */
  readonly logicalDeviceId?: string | undefined;
  /** Missing while it belongs to none. */
  readonly merchantId?: string | undefined;
};

/** Throws `device_not_found` for what is not in the scope. */
export type FindTerminal = (scope: DeviceScope, physicalDeviceId: string) => Promise<Terminal>;

/** Throws `merchant_not_found`. */
export type FindMerchantName = (organizationId: string, merchantId: string) => Promise<string>;

export type StoredCertificate = {
  readonly organizationId: string;
  readonly thumbprint: string;
  readonly physicalDeviceId: string;
  /** Of the terminal, when the certificate was made. */
  readonly serialNumber: string;
  readonly certificateSerial: string;
  /** PEM. */
  readonly certificate: string;
  /** Epoch milliseconds. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly createdAt: number;
  readonly revokedAt?: number | undefined;
  readonly revocationReason?: RevocationReason | undefined;
};

/** With how the terminal was claimed; undefined while it is not. */
export type RegisteredCertificate = StoredCertificate & { readonly claimMethod?: ClaimMethod };

/** Whose certificate it is: what a good one says of the peer. */
export type CertificateHolder = Pick<
  RegisteredCertificate,
  'organizationId' | 'physicalDeviceId' | 'serialNumber' | 'claimMethod'
>;

/** What device security asks of provisioning about claims. */
export type TerminalClaims = {
  /** The terminal was proved by its maker's certificate; undefined where the organisation has none of this name. */
  claimByCertificate(
    organizationId: string,
    name: string,
  ): Promise<
    | {
        readonly physicalDeviceId: string;
        readonly serialNumber: string;
        readonly isClaimed: boolean;
      }
    | undefined
  >;
  /** The code that the terminal shows, for the next minutes. */
  rememberCode(organizationId: string, physicalDeviceId: string, code: string): Promise<void>;
};

/** The members of the hardware are there together, and missing where the place is empty. */
export type FoundDevice = {
  readonly logicalDeviceId: string;
  readonly storeId: string;
  readonly merchantId: string;
  readonly physicalDeviceId?: string;
  readonly serialNumber?: string;
  readonly make?: string;
  readonly model?: string;
  readonly family?: string;
};

/** Provisioning's: undefined where the device is unknown, another merchant's, or disabled. */
export type FindDevice = (
  organizationId: string,
  merchantId: string | undefined,
  nameOrId: string,
) => Promise<FoundDevice | undefined>;
