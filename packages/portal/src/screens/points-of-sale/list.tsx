/** The list of all points of sale. */
import { Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { NewButton } from '../estate/new-button.tsx';
import { PointOfSaleList } from './point-of-sale-list.tsx';

export default function PointsOfSale() {
  const t = useTranslate('estate');
  const mayMake = useHasPermission('prov.write');
  return (
    <Page
      title={t('kinds.pointOfSale.many')}
      actions={mayMake && <NewButton kind="pointOfSale" to="/points-of-sale/new" />}
      fill
    >
      <PointOfSaleList />
    </Page>
  );
}
