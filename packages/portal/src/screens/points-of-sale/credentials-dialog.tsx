/** Shows the credentials of a point of sale once. */
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';

export function CredentialsDialog({
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
    <OneTimeSecretDialog
      title={t('credentials.title')}
      facts={[
        [t('credentials.clientId'), clientId],
        [t('credentials.clientSecret'), clientSecret],
      ]}
      onClose={onClose}
    >
      {t('credentials.text')}
    </OneTimeSecretDialog>
  );
}
