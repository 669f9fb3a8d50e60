// How somebody signed in, and at which device: the claims of scope `auth`.
import { defined } from '@switchyard/contract';
import type { Method } from '../accounts/types.ts';

export type DeviceType =
  | 'PublicDevice'
  | 'UnattendedDevice'
  | 'ConfidentialDevice'
  | 'ExternalMachine';

export const deviceMethods = ['api', 'device_flow'] as const;
export type DeviceMethod = (typeof deviceMethods)[number];

/** Plain JSON: it is kept with a sign-in, so that refreshed tokens say the same. */
export type SignInDevice = {
  readonly type: DeviceType;
  /** The name that the device came by: an identifier or a serial number. */
  readonly id: string;
  readonly methods: readonly DeviceMethod[];
  /** The logical device that a sale counts for, and where it stands. */
  readonly deviceId: string;
  readonly storeId: string;
};

/** The device's own methods where there is one; a person without a device only has the factors. */
export function authenticationClaims(
  device: SignInDevice | undefined,
  methods: readonly Method[],
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

/** What payments ask for is no matter of scope: a device sells for its own place and no other. */
export function locationClaims(location: {
  readonly deviceId?: string | undefined;
  readonly storeId?: string | undefined;
}): Record<string, unknown> {
  const { deviceId, storeId } = location;
  return defined({ storeId, deviceId });
}
