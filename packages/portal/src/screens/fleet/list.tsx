/** The fleet: every device, and whether it is there. */
import { Page } from '../../parts/page.tsx';
import { useCan } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { NewButton } from '../estate/new-button.tsx';
import { Fleet } from './fleet.tsx';

export default function Devices() {
  const t = useWords('fleet');
  const mayMake = useCan('prov.write');
  return (
    <Page
      title={t('title')}
      {...(mayMake ? { actions: <NewButton kind="device" to="/devices/new" /> } : {})}
      fill
    >
      <Fleet />
    </Page>
  );
}
