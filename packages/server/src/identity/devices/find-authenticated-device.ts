// Finds the device of a valid certificate: the terminal, its store and its merchant.
import { formatTsn, ProblemError, throwProblem } from '@switchyard/contract';
import type { ValidCertificate } from '../../http/index.ts';
import type { AuthenticatedDevice } from './authenticated-device.ts';
import type { CertificateHolder, FindDevice, FindTerminal } from './types.ts';

type Deps = { readonly findDevice: FindDevice; readonly findTerminal: FindTerminal };

export type FindAuthenticatedDevice = (
  good: ValidCertificate<CertificateHolder>,
) => Promise<AuthenticatedDevice>;

export function createFindAuthenticatedDevice({
  findDevice,
  findTerminal,
}: Deps): FindAuthenticatedDevice {
  async function findTerminalOf({ organizationId, physicalDeviceId }: CertificateHolder) {
    try {
      return await findTerminal({ organizationId }, physicalDeviceId);
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'device_not_found') return undefined;
      throw error;
    }
  }

  /** Throws the reason why the device cannot be used; its owner may know it. */
  async function throwUnusable(holder: CertificateHolder): Promise<never> {
    const terminal = await findTerminalOf(holder);
    if (terminal !== undefined && terminal.logicalDeviceId === undefined) {
      throwProblem('device_without_store', 'The device is not linked to a store.');
    }
    return throwProblem('device_not_active', 'The device, its store or its merchant is disabled.');
  }

  return async ({ holder, certificate, thumbprint }) => {
    const { organizationId, physicalDeviceId, serialNumber } = holder;
    const device = await findDevice(organizationId, undefined, physicalDeviceId);
    if (device === undefined || device.physicalDeviceId !== physicalDeviceId) {
      return throwUnusable(holder);
    }
    if (device.serialNumber !== serialNumber) {
      throwProblem(
        'certificate_mismatch',
        'The serial number of the device differs from that in its certificate.',
      );
    }
    const { make = '', model = '', family = '', logicalDeviceId, storeId, merchantId } = device;
    return {
      organizationId,
      thumbprint,
      certificate,
      physicalDeviceId,
      serialNumber,
      tsn: formatTsn({ make, model, serialNumber }),
      family,
      location: { logicalDeviceId, storeId, merchantId },
    };
  };
}
