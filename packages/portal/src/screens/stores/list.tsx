/** The list of all stores. */
import { Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { NewButton } from '../estate/new-button.tsx';
import { StoreList } from './store-list.tsx';

export default function Stores() {
  const t = useTranslate('estate');
  const mayMake = useHasPermission('prov.write');
  return (
    <Page
      title={t('kinds.store.many')}
      actions={mayMake && <NewButton kind="store" to="/stores/new" />}
      fill
    >
      <StoreList />
    </Page>
  );
}
