// Tells the grants which device stands behind a request that came in by mutual TLS.
import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A device in its store, proven by a certificate that is good at this moment. */
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

/** As long as the requests themselves. */
const devicesByRequest = new WeakMap<IncomingMessage, AuthenticatedDevice>();

/** The one who calls this has checked the certificate. */
export function setRequestDevice(raw: IncomingMessage, device: AuthenticatedDevice): void {
  devicesByRequest.set(raw, device);
}

/** Undefined on every path but the token endpoint of the device listener. */
export function requestDevice(raw: IncomingMessage | undefined): AuthenticatedDevice | undefined {
  return raw === undefined ? undefined : devicesByRequest.get(raw);
}
