/** Those who work for a merchant and can sign in. */
import { UsersTable } from '../users/users-table.tsx';

export function MerchantPeople({ merchantId }: { readonly merchantId: string }) {
  return <UsersTable listKey={['users', 'of', merchantId]} query={{ entityId: merchantId }} />;
}
