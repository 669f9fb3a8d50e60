/** The users of a merchant. */
import { UsersTable } from '../users/users-table.tsx';

export function MerchantUsers({ merchantId }: { readonly merchantId: string }) {
  return <UsersTable listKey={['users', 'of', merchantId]} query={{ entityId: merchantId }} />;
}
