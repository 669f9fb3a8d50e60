/** Registers a device for a merchant or for stock. */
import type { PhysicalDevice } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { NewEntity } from '../estate/entity-form.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { deviceFormSections } from './form-sections.ts';

export default function NewDevice() {
  const t = useTranslate('devices');
  const navigate = useNavigate();
  const { merchantId } = useSession();
  return (
    <NewEntity<PhysicalDevice>
      kind="device"
      address={estateApiUrls.devices}
      sections={deviceFormSections(merchantId === undefined)}
      backLink={{ to: '/devices', label: t('title') }}
      onMade={({ physicalDeviceId }) => void navigate({ to: `/devices/${physicalDeviceId}` })}
    />
  );
}
