// The device of a request that came in by mutual TLS, for the grants.
import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A device that authenticated with a valid certificate, and its store. */
export type AuthenticatedDevice = {
  readonly organizationId: string;
  /** `x5t#S256` of RFC 8705. */
  readonly thumbprint: string;
  readonly certificate: X509Certificate;
  readonly physicalDeviceId: string;
  readonly serialNumber: string;
  /** `{MAKE_MODEL}-{serial}`. */
  readonly tsn: string;
  readonly family: string;
  readonly location: {
    readonly logicalDeviceId: string;
    readonly storeId: string;
    readonly merchantId: string;
  };
};

/** Entries live as long as their requests. */
const devicesByRequest = new WeakMap<IncomingMessage, AuthenticatedDevice>();

/** The caller must have validated the certificate. */
export function setRequestDevice(raw: IncomingMessage, device: AuthenticatedDevice): void {
  devicesByRequest.set(raw, device);
}

/** Undefined except at the token endpoint of the device listener. */
export function requestDevice(raw: IncomingMessage | undefined): AuthenticatedDevice | undefined {
  return raw === undefined ? undefined : devicesByRequest.get(raw);
}
