/** The first screen after the sign-in. */
import { Page } from '../../parts/page.tsx';
import { useSession } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';

export default function Home() {
  const t = useWords('home');
  const { user, organizationName } = useSession();
  return (
    <Page title={t('title', { name: user.name })} lead={organizationName}>
      {null}
    </Page>
  );
}
