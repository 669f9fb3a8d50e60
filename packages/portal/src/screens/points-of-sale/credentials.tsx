/** What a point of sale gets its tokens with, told this once. */
import { SecretOnce } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';

export function Credentials({
  clientId,
  clientSecret,
  onClose,
}: {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly onClose: () => void;
}) {
  const t = useTranslate('estate');
  return (
    <SecretOnce
      title={t('credentials.title')}
      facts={[
        [t('credentials.clientId'), clientId],
        [t('credentials.clientSecret'), clientSecret],
      ]}
      onClose={onClose}
    >
      {t('credentials.text')}
    </SecretOnce>
  );
}
