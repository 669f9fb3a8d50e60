// From a good certificate to the device that shows it: the terminal, in its place, of its merchant.
import { Refusal, refuse } from '@switchyard/contract';
import type { GoodCertificate } from '../../http/index.ts';
import type { PresentedDevice } from './authenticated-device.ts';
import type { CertificateHolder, FindDevice, FindHardware } from './types.ts';

type Deps = { readonly findDevice: FindDevice; readonly findHardware: FindHardware };

export type FindPresented = (good: GoodCertificate<CertificateHolder>) => Promise<PresentedDevice>;

export function createFindPresented({ findDevice, findHardware }: Deps): FindPresented {
  async function hardwareOf({ organizationId, physicalDeviceId }: CertificateHolder) {
    try {
      return await findHardware({ organizationId }, physicalDeviceId);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'device_not_found') return undefined;
      throw error;
    }
  }

  /** The owner of a good certificate may know what is missing: it is for him to put right. */
  async function refusePlace(holder: CertificateHolder): Promise<never> {
    const hardware = await hardwareOf(holder);
    if (hardware !== undefined && hardware.logicalDeviceId === undefined) {
      refuse('device_without_store', 'The device is linked to no store.');
    }
    return refuse('device_not_active', 'The device, its store or its merchant is not in use.');
  }

  return async ({ holder, certificate, thumbprint }) => {
    const { organizationId, physicalDeviceId, serialNumber } = holder;
    const found = await findDevice(organizationId, undefined, physicalDeviceId);
    if (found === undefined || found.physicalDeviceId !== physicalDeviceId) {
      return refusePlace(holder);
    }
    if (found.serialNumber !== serialNumber) {
      refuse('certificate_mismatch', 'The device has another serial number than its certificate.');
    }
    const { make, model, family = '', logicalDeviceId, storeId, merchantId } = found;
    return {
      organizationId,
      thumbprint,
      certificate,
      physicalDeviceId,
      serialNumber,
      tsn: `${make}_${model}-${serialNumber}`,
      family,
      place: { logicalDeviceId, storeId, merchantId },
    };
  };
}
