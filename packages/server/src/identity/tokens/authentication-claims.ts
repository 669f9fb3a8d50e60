// The claims of the scope `auth`: how the user signed in, and at which device.
import { defined } from '@switchyard/contract';
import type { AuthenticationMethod } from '../accounts/types.ts';

export type DeviceType =
  | 'PublicDevice'
  | 'UnattendedDevice'
  | 'ConfidentialDevice'
  | 'ExternalMachine';

export const deviceSignInMethods = ['api', 'device_flow'] as const;
export type DeviceMethod = (typeof deviceSignInMethods)[number];

/** Stored as JSON with the sign-in, so that refreshed tokens have the same claims. */
export type SignInDevice = {
  readonly type: DeviceType;
  /** The device identifier or serial number that the client sent. */
  readonly id: string;
  readonly methods: readonly DeviceMethod[];
  /** The logical device and the store to which sales are booked. */
  readonly deviceId: string;
  readonly storeId: string;
};

/** With a device: its type and methods. Without one: only whether a second factor was used. */
export function authenticationClaims(
  device: SignInDevice | undefined,
  methods: readonly AuthenticationMethod[],
): Record<string, unknown> {
  const factors = { '2fa': methods.length > 1 };
  if (device === undefined) return factors;
  return {
    device_type: device.type,
    device_id: device.id,
    method: device.methods.join(' '),
    ...factors,
  };
}

/** Payments need store and device in every scope: a device sells for its own store only. */
export function locationClaims(location: {
  readonly deviceId?: string | undefined;
  readonly storeId?: string | undefined;
}): Record<string, unknown> {
  const { deviceId, storeId } = location;
  return defined({ storeId, deviceId });
}
