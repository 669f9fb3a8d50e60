/** The stores of all merchants. */
import { Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { NewButton } from '../estate/new-button.tsx';
import { StoreList } from './store-list.tsx';

export default function Stores() {
  const t = useTranslate('estate');
  const mayMake = useCan('prov.write');
  return (
    <Page
      title={t('kinds.store.many')}
      {...(mayMake ? { actions: <NewButton kind="store" to="/stores/new" /> } : {})}
      fill
    >
      <StoreList />
    </Page>
  );
}
