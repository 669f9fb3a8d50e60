import { onContentUpdated, useData } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import './style.css';

export default {
  extends: DefaultTheme,
  setup() {
    const { frontmatter } = useData();
    // The home page of the default theme has no main landmark, which a screen reader jumps to.
    onContentUpdated(() => {
      const content = document.getElementById('VPContent');
      if (frontmatter.value['layout'] === 'home') content?.setAttribute('role', 'main');
      else content?.removeAttribute('role');
    });
  },
};
