// The types of device security, and its ports to provisioning.
import type { ClaimMethod, DeviceCertificateRevocation } from '@switchyard/contract';

export type RevocationReason = NonNullable<DeviceCertificateRevocation['reason']>;

/** An organisation, or one merchant of it: the range that a caller may see and change. */
export type DeviceScope = { readonly organizationId: string; readonly merchantId?: string };

/** A physical terminal, installed or in stock. */
export type Terminal = {
  readonly physicalDeviceId: string;
  readonly serialNumber: string;
  /** `{MAKE_MODEL}-{serial}`. */
  readonly tsn: string;
  /** Missing while the terminal is in stock. */
  readonly logicalDeviceId?: string | undefined;
  /** Missing while it belongs to no merchant. */
  readonly merchantId?: string | undefined;
};

/** Throws `device_not_found` if the terminal is not in the scope. */
export type FindTerminal = (scope: DeviceScope, physicalDeviceId: string) => Promise<Terminal>;

/** Throws `merchant_not_found`. */
export type FindMerchantName = (organizationId: string, merchantId: string) => Promise<string>;

export type StoredCertificate = {
  readonly organizationId: string;
  readonly thumbprint: string;
  readonly physicalDeviceId: string;
  /** The serial number of the terminal when the certificate was issued. */
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

/** With the method by which the terminal was claimed; missing while it is not claimed. */
export type RegisteredCertificate = StoredCertificate & { readonly claimMethod?: ClaimMethod };

/** The terminal to which a certificate belongs. */
export type CertificateHolder = Pick<
  RegisteredCertificate,
  'organizationId' | 'physicalDeviceId' | 'serialNumber' | 'claimMethod'
>;

/** The port to provisioning for terminal claims. */
export type TerminalClaims = {
  /**
   * Records a claim by manufacturer certificate; undefined if the organisation has no terminal of
   * this name.
   */
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
  /** Stores the code that the terminal shows, for a few minutes. */
  storeClaimCode(organizationId: string, physicalDeviceId: string, code: string): Promise<void>;
};

/**
 * The members from `physicalDeviceId` on are present together, or missing if no terminal is
 * installed.
 */
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

/**
 * Port to provisioning; undefined if the device is unknown, disabled, or belongs to another
 * merchant.
 */
export type FindDevice = (
  organizationId: string,
  merchantId: string | undefined,
  nameOrId: string,
) => Promise<FoundDevice | undefined>;
