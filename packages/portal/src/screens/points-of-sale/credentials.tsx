/** What a point of sale gets its tokens with, told this once. */
import { SecretOnce } from '../../parts/secret-once.tsx';
import { useWords } from '../../words/index.ts';

export function Credentials({
  clientId,
  clientSecret,
  onClose,
}: {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly onClose: () => void;
}) {
  const t = useWords('estate');
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
